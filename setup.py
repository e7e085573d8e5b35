"""Builds the two extension modules; everything else about the project stands in pyproject.toml.

A wheel is for one version of Python. `_runtime` keeps to the stable ABI, as cffi does by itself; `_dispatch` cannot:
the hit path of a jitted call is called by vectorcall, which belongs to the stable ABI from Python 3.12 on only (3.11 is
our oldest), and it reads tuples, lists, floats and NumPy arrays through macros that look into their structs. Functions
in their place would be calls, dozens of them in a hit of 200 ns.
"""

import numpy as np
from setuptools import Extension, setup

setup(
    cffi_modules=["csrc/build.py:ffi"],  # tinytrace._runtime: pool, threads, BLAS, loading, calling
    ext_modules=[  # arrays and the hit path of jitted calls
        Extension("tinytrace._dispatch",
                  [f"csrc/{name}.c" for name in ("arrays", "dispatch", "eager", "entry", "indexing", "keys", "traces")],
                  depends=["csrc/dispatch.h"], include_dirs=[np.get_include()],
                  extra_compile_args=["-O2", "-fvisibility=hidden", "-Wall", "-Wextra"])],
)
