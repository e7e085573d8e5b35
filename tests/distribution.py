"""Installs what a release would hand out: `make dist-check`.

Builds the sdist; in a fresh virtual environment, in which nothing of this folder is, makes the wheel out of it, as pip
does to install an sdist, installs that and runs compiled functions. So the package's C is compiled once. A file that
the sdist lacks, an undeclared dependency, a text that is not embedded in the extension module shows here and nowhere
else: all other tests run on the folder itself.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
NEEDED = [ROOT / "csrc", ROOT / "tests", ROOT / "docs", ROOT / "tinytrace"]

PROGRAM = '''
import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.runtime.executable import Executable

def selu(x, alpha=1.67, scale=1.05):
    return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

x = np.linspace(-3, 3, 100, dtype=np.float32)
wanted = {
    selu: np.where(x > 0, 1.05 * x, 1.05 * 1.67 * np.expm1(x)),
    jnp.sin: np.sin(x),
    jax.nn.softmax: np.exp(x) / np.exp(x).sum(),
}
for function, answer in wanted.items():
    jitted = jax.jit(function)
    assert isinstance(jitted.lower(x).compile().executable, Executable), f"{function.__name__} was not compiled"
    np.testing.assert_allclose(jitted(x), answer, 1e-5, 1e-6)
half = jax.jit(jnp.cos)(jnp.ones(3, jnp.bfloat16))
assert half.dtype == "bfloat16", half.dtype
print("  compiled and agree:", *(function.__name__ for function in wanted), "from", jax.__file__)
'''


def build(folder: pathlib.Path) -> pathlib.Path:
    """Build the sdist in `folder` and return its path."""
    command = [sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\nthe build failed with status {done.returncode}")
    sdist, = folder.glob("*.tar.gz")
    return sdist


def missing(sdist: pathlib.Path) -> list[str]:
    """Return the files of the source folders that the sdist lacks."""
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    sources = {path.relative_to(ROOT).as_posix() for folder in NEEDED for path in folder.rglob("*")
               if path.suffix in (".c", ".h", ".inc", ".py", ".md")}
    return sorted(sources - inside)


def try_out(sdist: pathlib.Path, folder: pathlib.Path) -> None:
    """In a fresh environment in `folder` make the wheel, install it and run PROGRAM with it: warnings are errors."""
    python, wheels = folder / "bin" / "python", folder / "wheels"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, sdist], check=True)
    wheel, = wheels.iterdir()
    print(f"==> {wheel.name}, made of {sdist.name} in a fresh environment", flush=True)
    subprocess.run([*pip, "install", wheel], check=True)
    unset = ("PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"TINYTRACE_STRICT": "1", "TINYTRACE_CACHE_DIR": str(folder / "cache")}
    subprocess.run([python, "-W", "error", "-c", PROGRAM], check=True, cwd=folder, env=environment)


def main() -> None:
    """Build, look into the sdist, install and run."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print("==> building", flush=True)
        sdist = build(folder)
        if lacking := missing(sdist):
            sys.exit(f"{sdist.name} lacks {' '.join(lacking)}: add them to MANIFEST.in")
        try_out(sdist, folder / "environment")


if __name__ == "__main__":
    main()
