"""What programs mean, computed by NumPy. Un-jitted calls are compiled too, so they are no reference for what is."""

import tinytrace as jax
from tinytrace.core.trace import interpreting


def in_numpy(function, *args):
    """The flat results of a function, each of its equations by its meaning in NumPy; loops and branches too."""
    closed = jax.make_jaxpr(function)(*args)
    with interpreting():
        return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *jax.tree.leaves(args))
