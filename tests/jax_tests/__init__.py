"""JAX 0.4.35's own tests, run here: `run.py`, with `stand_in.py` in the place of what they use of JAX's insides."""
