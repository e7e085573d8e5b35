"""The language of kernels: expressions, statements, kernels, and what holds for all of them.

Comes in: nothing; every other folder of the code generator speaks this language.
Goes out: nodes and index arithmetic, statements and kernels, the ways to fold, the verifier.
"""
