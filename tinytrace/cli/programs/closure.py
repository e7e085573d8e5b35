"""New values in a pytree do not recompile; its static part does.

From "JAX, recompilation when using closure for a function".
"""
import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import tree_util


class Params:
    def __init__(self, x_array, a):
        self.x_array = x_array
        self.a = a

    def one_step(self, state, input):
        x = state
        y = input
        return (self.x_array + x + jnp.ones(self.a)) * y

    def _tree_flatten(self):
        children = (self.x_array,)
        aux_data = {"a": self.a}
        return (children, aux_data)

    @classmethod
    def _tree_unflatten(cls, aux_data, children):
        return cls(*children, **aux_data)


tree_util.register_pytree_node(Params, Params._tree_flatten, Params._tree_unflatten)


def scan_body(params, state, input):
    x_new = params.one_step(state, input)
    return x_new, [x_new]


@jax.jit
def example(params):
    body_fun = lambda state, input: scan_body(params, state, input)
    init_state = jnp.array([0.0, 1.0])
    input_array = jnp.array([1.0, 2.0, 3.0])
    last_state, result_list = jax.lax.scan(body_fun, init_state, input_array)
    return last_state, result_list


params1 = Params(jnp.array([1.0, 2.0]), 2)
last_state, result_list = example(params1)
print(last_state)

params2 = Params(jnp.array([3.0, 4.0]), 2)
last_state, result_list = example(params2)
print(last_state)
print("compiled for", example._cache_size(), "kind of params")
