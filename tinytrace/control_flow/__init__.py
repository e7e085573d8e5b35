"""Primitives whose parameters are programs: jit calls, branches, loops, custom rules, checkpoints, callbacks."""
