"""The programs whose pages are looked at: selu, a step of gradient descent, a scan and a stencil."""
import itertools
import types

import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.inspection.explorer.facts import Facts
from tinytrace.inspection.explorer.page import Equation, Page
from tinytrace.inspection.explorer.passes import Change
from tinytrace.inspection.linked_texts.marked_text import Pane, lines_as_parts


def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    logits = x @ w + b
    logits = logits - jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)
    return -jnp.mean(jnp.sum(logits * y, axis=1))


def step(params, x, y):
    grads = jax.grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def swing(start, forces):
    def body(x, force):
        x = jnp.sin(x) * force
        return x, x + 1

    return jax.lax.scan(body, start, forces)


def stencil(u):
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))


def array(*shape):
    return np.ones(shape, np.float32)


SIZES = [784, 128, 64, 10]
PARAMS = [(array(m, n), array(n)) for m, n in itertools.pairwise(SIZES)]
PROGRAMS = {
    "selu": (selu, (array(1000),)),
    "step": (step, (PARAMS, array(32, 784), array(32, 10))),
    "swing": (jax.vmap(swing), (array(4, 8), array(4, 100, 8))),
    "stencil": (stencil, (array(64, 64),)),
}


def page(name):
    """The explorer's page of one of the programs."""
    fun, args = PROGRAMS[name]
    return jax.explore(fun)(*args)


def made_page(lines):
    """A page of texts of its own, which no change of the code generator changes; its last line of Python wrote all."""
    keys = ("python", "jaxpr", "simplified", "kernels", "c", "assembly")
    texts = {key: [f"{key} {k}: " + "word " * (3 + (5 * k + len(key)) % 9) for k in range(lines)] for key in keys}
    ids = [(k // 2,) for k in range(lines)]
    panes = [Pane(key, key.title(), "\n".join(texts[key]),
                  lines_as_parts(texts[key], ids if key != "python" else [*ids[:-1], range(lines // 2)]),
                  tuple(range(1, lines + 1))) for key in keys]
    equations = [Equation(f"e = op{k}", Facts("f32[3] -> f32[3]", 24, 3, (k % 3,)), place="f.py:3")
                 for k in range(lines // 2)]
    changes = [Change("fold", "Computes what is known.", "jaxpr", (3,), (), (), (4,), ("-e = op3", "+e = op4"))]
    return types.SimpleNamespace(html=Page("f(f32[3])", panes, equations, {}, changes).to_html())
