"""What pytest and Hypothesis load when they start: small, and without importing tinytrace before somebody else does.

These modules stand beside the package, because importing anything inside it imports the package, which reads its
settings from the environment at that moment.
"""
