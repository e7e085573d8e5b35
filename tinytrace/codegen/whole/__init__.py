"""Equations that are kernels of their own: matrix products, scatters, loops, branches, calls of C and of Python.

Comes in: one equation and where its operands are.
Goes out: the kernels that run it, and where its results are.
"""
