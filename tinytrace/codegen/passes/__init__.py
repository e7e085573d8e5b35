"""What rewrites kernels, one idea per file: dead code, memory reuse, epilogues, streaming stores, prefetch, threads.

Comes in: the kernels of a program.
Goes out: kernels that compute the same.
"""
