"""Variables and rows that nobody reads are not made; a look at what is read tells most programs that have none."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import dead_code

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
PROGRAMS = {
    "nothing dead": lambda x: jnp.tanh(x) / x.sum(),
    "a row": lambda x: jax.nn.softmax(x, axis=1),
    "a fold for nothing": lambda x: jnp.zeros((0,)) + (x.sum() * jnp.ones((0,))).sum() * 0 + x[:, :0].sum(),
    "an empty result": lambda x: (x[:0] * x.max(), x + 1),
    "a loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * y.sum(), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_look_finds_what_the_pass_does(name, monkeypatch):
    def program(x):
        return PROGRAMS[name](x)

    quick = jax.jit(program).trace(X).lower(debug=True)
    monkeypatch.setattr(dead_code, "_is_all_read", lambda kernels: False)
    jax.clear_caches()
    slow = jax.jit(program).trace(X).lower(debug=True)
    assert [str(each) for each in quick.passes] == [str(each) for each in slow.passes]
