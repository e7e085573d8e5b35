"""Builds the two extension modules; everything else about the project stands in pyproject.toml.

With TINYTRACE_PURE=1 in the environment it builds none: the wheel has no machine code, runs everywhere, and carries the
C texts that generated programs paste (tinytrace/pure says what such an installation can do).

A wheel is for one version of Python. `_runtime` keeps to the stable ABI, as cffi does by itself; `_dispatch` cannot:
the hit path of a jitted call is called by vectorcall, which belongs to the stable ABI from Python 3.12 on only (3.11 is
our oldest), and it reads tuples, lists, floats and NumPy arrays through macros that look into their structs. Functions
in their place would be calls, dozens of them in a hit of 200 ns.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py


class BuildWithTexts(build_py):
    """Puts the C texts into the package, where `tinytrace.pure.runtime` looks for them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # then they are found in the checkout
            return
        target = Path(self.build_lib, "tinytrace", "pure", "csrc")
        for path in [*Path("csrc").glob("*.[chit]*"), *Path("csrc", "math").glob("*.h")]:
            place = target / path.relative_to("csrc")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


class BuildAtOnce(build_ext):
    """Compiles both modules, and the files of each, at the same time: half a minute of one core."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        compile_files = self.compiler.compile
        with ThreadPoolExecutor(os.cpu_count()) as pool:

            def compile_at_once(sources: list[str], *args: object, **kwargs: object) -> list[str]:
                files = [pool.submit(compile_files, [source], *args, **kwargs) for source in sources]
                return [name for file in files for name in file.result()]

            self.compiler.compile = compile_at_once
            super().build_extensions()


HIT_PATH = ["private_files", "libraries", "own_code", "installed", "traces", "counter", "scalars", "buffers", "copies",
            "views", "arrays", "indexing", "trees", "keys", "entry", "calls", "math_loops", "own_loops", "loops",
            "eager", "guards", "callable", "dispatch"]
"""The files of tinytrace._dispatch, in the order of their layers."""

EXTENSIONS = {
    "cffi_modules": ["csrc/build.py:ffi"],  # tinytrace._runtime: pool, threads, BLAS, loading, calling
    "ext_modules": [  # arrays, the hit path of jitted calls, and what a hit on disk reads and loads
        Extension("tinytrace._dispatch",
                  [f"csrc/{name}.c" for name in HIT_PATH],
                  depends=[f"csrc/{name}.h" for name in ("cpython", *HIT_PATH[:-1])],
                  include_dirs=[np.get_include()],
                  extra_compile_args=["-O2", "-fvisibility=hidden", "-Wall", "-Wextra"])],
}

if os.environ.get("TINYTRACE_PURE", "0") == "1":
    EXTENSIONS = {}
setup(cmdclass={"build_ext": BuildAtOnce, "build_py": BuildWithTexts}, **EXTENSIONS)
