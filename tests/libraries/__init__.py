"""Libraries that are written for JAX, run with `import jax` meaning tinytrace: `measure.py` compares their numbers."""
