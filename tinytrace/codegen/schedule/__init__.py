"""Loops: which axes merge, which one is vectorised, and how long folds are split.

Comes in: a group of roots, as stages of tasks.
Goes out: the statements of one loop nest.
"""
