"""What tests of tracing programs are made of: Hypothesis strategies for types, arrays and whole programs.

`tinytrace.testing.strategies` needs the package hypothesis; nothing else of tinytrace does.
"""
