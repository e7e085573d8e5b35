"""Installs what a release would hand out: `make dist-check`.

Builds the sdist, and out of it the wheel; installs each of them in a fresh virtual environment, in which nothing of
this folder is, and runs compiled functions there. A file that the sdist lacks, an undeclared dependency, a text
that is not embedded in the extension module shows here and nowhere else: all other tests run on the folder itself.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor

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


def build(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Build both in `folder`, the wheel from the sdist; return their paths."""
    command = [sys.executable, "-m", "build", "--outdir", folder, ROOT]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\nthe build failed with status {done.returncode}")
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def missing(sdist: pathlib.Path) -> list[str]:
    """Return the files of the source folders that the sdist lacks."""
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    sources = {path.relative_to(ROOT).as_posix() for folder in NEEDED for path in folder.rglob("*")
               if path.suffix in (".c", ".h", ".inc", ".py", ".md")}
    return sorted(sources - inside)


def try_out(archive: pathlib.Path, folder: pathlib.Path) -> None:
    """Install `archive` in a fresh environment inside `folder` and run PROGRAM with it: warnings are errors."""
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", archive], check=True)
    unset = ("PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"TINYTRACE_STRICT": "1", "TINYTRACE_CACHE_DIR": str(folder / "cache")}
    subprocess.run([python, "-W", "error", "-c", PROGRAM], check=True, cwd=folder, env=environment)


def main() -> None:
    """Build, look into the sdist, install and run."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print("==> building", flush=True)
        sdist, wheel = build(folder)
        if lacking := missing(sdist):
            sys.exit(f"{sdist.name} lacks {' '.join(lacking)}: add them to MANIFEST.in")
        print(f"==> {sdist.name} and {wheel.name}, each in a fresh environment", flush=True)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda archive: try_out(archive, folder / archive.suffix), (sdist, wheel)))


if __name__ == "__main__":
    main()
