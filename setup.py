"""Builds the two extension modules; everything else about the project stands in pyproject.toml."""

from setuptools import Extension, setup

setup(
    cffi_modules=["csrc/build.py:ffi"],  # tinytrace._runtime: pool, threads, BLAS, loading, calling
    ext_modules=[Extension("tinytrace._dispatch", ["csrc/dispatch.c"], extra_compile_args=["-O2"])],
)
