"""Builds the extension module; everything else about the project stands in pyproject.toml."""

from setuptools import setup

setup(cffi_modules=["csrc/build.py:ffi"])
