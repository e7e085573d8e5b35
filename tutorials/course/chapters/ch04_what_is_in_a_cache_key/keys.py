"""What chapter 4 needs besides tinytrace: the type of a leaf, a function that counts how often it is traced, Params."""

import tinytrace as jax
from tinytrace import tree_util
from tinytrace.core.avals import aval_of


def leaf_type(x):
    """The type of a leaf in words: `"f32[3]"`, with `~` behind it if it is weak.

    >>> leaf_type(1.0)
    'f32[]~'
    """
    aval = aval_of(x)
    return aval.str_short() + ("~" if aval.weak_type else "")


def counted(f, **options):
    """`f` jitted, and a list that grows by one entry whenever it is traced."""
    traces = []

    def traced(*args, **kwargs):
        traces.append(1)
        return f(*args, **kwargs)

    return jax.jit(traced, **options), traces


class Params:
    """Weights that are data, and a size that is not: as in the fourth of the introductory texts."""

    def __init__(self, weights, size):
        self.weights, self.size = weights, size


tree_util.register_pytree_node(Params, lambda p: ((p.weights,), p.size), lambda size, children: Params(*children, size))
