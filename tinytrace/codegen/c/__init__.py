"""C text: how kernels, statements, expressions, types and numbers are spelled, and the translation unit around them.

Comes in: kernels whose buffers have their places.
Goes out: one C source with one entry.
"""
