"""Fusion: which values are kept in memory, and which equations share loops.

Comes in: the equations of a jaxpr, each as the kind that its primitive's `lower` answers.
Goes out: groups of roots. A root is a kept value, its loops, and the expression of one element in them.
"""
