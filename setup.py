"""Builds the two extension modules; everything else about the project stands in pyproject.toml."""

import numpy as np
from setuptools import Extension, setup

setup(
    cffi_modules=["csrc/build.py:ffi"],  # tinytrace._runtime: pool, threads, BLAS, loading, calling
    ext_modules=[  # arrays and the hit path of jitted calls
        Extension("tinytrace._dispatch", ["csrc/arrays.c", "csrc/dispatch.c", "csrc/eager.c", "csrc/entry.c"],
                  depends=["csrc/dispatch.h"], include_dirs=[np.get_include()],
                  extra_compile_args=["-O2", "-fvisibility=hidden", "-Wall", "-Wextra"])],
)
