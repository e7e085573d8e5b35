"""Forty mistakes that beginners make: each a program, the expression that is wrong, and the line that would do."""
from typing import NamedTuple


class Mistake(NamedTuple):
    """A program that raises.

    Args:
      program: run with jax, jnp, np and partial.
      expression: what a note must name, as the user wrote it.
      repaired: the line that a note must propose, where it can be told.
    """

    program: str
    expression: str
    repaired: str = ""


MISTAKES = {
    "if": Mistake("@jax.jit\ndef relu(x):\n    if x > 0:\n        return x\n    return 0.0\n\nrelu(3.0)", "x > 0",
                  "return jnp.where(x > 0, x, 0.0)"),
    "if_under_grad": Mistake("def f(x):\n    if x > 0:\n        return x\n    else:\n        return -x\n\n"
                             "jax.jit(jax.grad(f))(1.0)", "x > 0", "return jnp.where(x > 0, x, -x)"),
    "conditional_expression": Mistake("@jax.jit\ndef f(x):\n    y = x if x > 0 else -x\n    return y * 2\n\nf(1.0)",
                                      "x > 0", "y = jnp.where(x > 0, x, -x)"),
    "while": Mistake("@jax.jit\ndef f(n):\n    while n > 1:\n        n = n // 2\n    return n\n\nf(8)", "n > 1",
                     "jax.lax.while_loop"),
    "and": Mistake("@jax.jit\ndef f(x, y):\n    return x > 0 and y > 0\n\nf(1.0, 2.0)", "x > 0",
                   "return jnp.logical_and(x > 0, y > 0)"),
    "not": Mistake("@jax.jit\ndef f(x):\n    return not (x > 0)\n\nf(1.0)", "x > 0", "return jnp.logical_not(x > 0)"),
    "chained_comparison": Mistake("@jax.jit\ndef f(x):\n    inside = 0 < x < 1\n    return inside\n\nf(0.5)",
                                  "0 < x < 1", "inside = jnp.logical_and(0 < x, x < 1)"),
    "max": Mistake("@jax.jit\ndef f(x, y):\n    return max(x, y)\n\nf(1.0, 2.0)", "max(x, y)",
                   "return jnp.maximum(x, y)"),
    "assert": Mistake("@jax.jit\ndef f(x):\n    assert x > 0\n    return jnp.log(x)\n\nf(1.0)", "x > 0"),
    "in": Mistake("@jax.jit\ndef f(x, xs):\n    return x in xs\n\nf(1, jnp.arange(3))", "x in xs",
                  "return (xs == x).any()"),
    "float": Mistake("@jax.jit\ndef f(x):\n    return float(x) * 2\n\nf(1)", "float(x)", "return x.astype(float) * 2"),
    "int": Mistake("@jax.jit\ndef f(x):\n    n = int(x)\n    return n + 1\n\nf(1.5)", "int(x)", "n = x.astype(int)"),
    "item": Mistake("@jax.jit\ndef f(x):\n    return x.sum().item()\n\nf(jnp.arange(3.0))", "x.sum().item()",
                    "return x.sum()"),
    "range": Mistake("@jax.jit\ndef f(x, n):\n    for i in range(n):\n        x = x * 2\n    return x\n\nf(1.0, 3)",
                     "range(n)", "jax.lax.fori_loop(0, n, "),
    "list_index": Mistake("table = [10, 20, 30]\n\n@jax.jit\ndef f(i):\n    return table[i]\n\nf(1)", "table[i]",
                          "return jnp.asarray(table)[i]"),
    "numpy_function": Mistake("@jax.jit\ndef f(x):\n    return np.sin(x) * 2\n\nf(1.0)", "np.sin(x)",
                              "return jnp.sin(x) * 2"),
    "numpy_index": Mistake("table = np.arange(3)\n\n@jax.jit\ndef f(i):\n    return table[i]\n\nf(1)", "table[i]",
                           "return jnp.asarray(table)[i]"),
    "numpy_array": Mistake("def f(x):\n    y = np.array(x)\n    return y.sum()\n\njax.grad(f)(jnp.ones(3))",
                           "np.array(x)", "y = jnp.array(x)"),
    "shape_of_value": Mistake("@jax.jit\ndef f(n):\n    return jnp.zeros(n)\n\nf(3)", "jnp.zeros(n)",
                              "static_argnames=\"n\""),
    "arange_of_value": Mistake("@jax.jit\ndef f(n):\n    return jnp.arange(n).sum()\n\nf(3)", "jnp.arange(n)",
                               "static_argnames=\"n\""),
    "reshape_of_value": Mistake("@jax.jit\ndef f(x, n):\n    return x.reshape(n, -1)\n\nf(jnp.ones(6), 2)",
                                "x.reshape(n, -1)", "static_argnames=\"n\""),
    "mask": Mistake("@jax.jit\ndef f(x):\n    return x[x > 0].sum()\n\nf(jnp.array([3, -1, 4]))", "x[x > 0]",
                    "return jnp.where(x > 0, x, 0).sum()"),
    "nonzero": Mistake("@jax.jit\ndef f(x):\n    return jnp.nonzero(x)\n\nf(jnp.arange(3))", "jnp.nonzero(x)",
                       "return jnp.nonzero(x, size="),
    "slice_of_value": Mistake("@jax.jit\ndef f(x, n):\n    return x[:n]\n\nf(jnp.ones(3), 2)", "x[:n]"),
    "assignment": Mistake("x = jnp.zeros(3)\nx[0] = 1.0", "x[0] = 1.0", "x = x.at[0].set(1.0)"),
    "assignment_in_jit": Mistake("@jax.jit\ndef f(x):\n    x[1:] += 2\n    return x\n\nf(jnp.zeros(3))", "x[1:] += 2",
                                 "x = x.at[1:].add(2)"),
    "shapes_add": Mistake("@jax.jit\ndef f(x, y):\n    return x + y\n\nf(jnp.ones(3), jnp.ones(4))", "x + y"),
    "shapes_matmul": Mistake("def predict(w, x):\n    return x @ w\n\npredict(jnp.ones((4, 3)), jnp.ones((2, 3)))",
                             "x @ w", "return x @ w.T"),
    "shapes_under_grad": Mistake("def loss(w, x, y):\n    error = x @ w - y\n    return (error ** 2).sum()\n\n"
                                 "jax.jit(jax.grad(loss))(jnp.ones(3), jnp.ones((5, 3)), jnp.ones(4))", "x @ w - y"),
    "reshape": Mistake("x = jnp.arange(6)\ny = x.reshape(4, 2)", "x.reshape(4, 2)"),
    "list_argument": Mistake("total = jnp.sum([1.0, 2.0])", "jnp.sum([1.0, 2.0])",
                             "total = jnp.sum(jnp.asarray([1.0, 2.0]))"),
    "concatenate": Mistake("a, b = jnp.ones(2), jnp.ones(3)\nc = jnp.concatenate(a, b)", "jnp.concatenate(a, b)",
                           "c = jnp.concatenate([a, b])"),
    "grad_of_array": Mistake("def f(x):\n    return x ** 2\n\njax.grad(f)(jnp.ones(3))", "jax.grad(f)(jnp.ones(3))",
                             "jax.grad(lambda *args: f(*args).sum())(jnp.ones(3))"),
    "grad_of_int": Mistake("def f(x):\n    return x ** 2.0\n\njax.grad(f)(3)", "jax.grad(f)(3)",
                           "jax.grad(f)(3.0)"),
    "not_a_jax_type": Mistake("@jax.jit\ndef f(name, x):\n    return x\n\nf(\"sum\", 1.0)", "f(\"sum\", 1.0)"),
    "unhashable_static": Mistake("@partial(jax.jit, static_argnames=\"shape\")\ndef f(x, shape):\n"
                                 "    return x.reshape(shape)\n\nf(jnp.ones(6), shape=[2, 3])",
                                 "f(jnp.ones(6), shape=[2, 3])", "f(jnp.ones(6), shape=(2, 3))"),
    "vmap_sizes": Mistake("def f(x, y):\n    return x * y\n\njax.vmap(f)(jnp.ones(3), jnp.ones(4))",
                          "jax.vmap(f)(jnp.ones(3), jnp.ones(4))"),
    "vmap_scalar": Mistake("def f(x, y):\n    return x * y\n\njax.vmap(f)(jnp.ones(3), 2.0)",
                           "jax.vmap(f)(jnp.ones(3), 2.0)", "jax.vmap(f, in_axes=(0, None))(jnp.ones(3), 2.0)"),
    "scan_carry": Mistake("def body(carry, x):\n    return jnp.stack([carry, x]), x\n\n"
                          "jax.lax.scan(body, 0.0, jnp.ones(3))", "jax.lax.scan(body, 0.0, jnp.ones(3))"),
    "cond_types": Mistake("def f(x):\n    return jax.lax.cond(x > 0, lambda x: x, lambda x: 0, x)\n\njax.jit(f)(1.0)",
                          "jax.lax.cond(x > 0, lambda x: x, lambda x: 0, x)"),
    "leak": Mistake("kept = []\n\n@jax.jit\ndef f(x):\n    kept.append(x + 1)\n    return x\n\nf(1.0)\ny = kept[0] * 2",
                    "kept[0] * 2"),
    "axis": Mistake("@jax.jit\ndef f(x):\n    return x.sum(axis=2)\n\nf(jnp.ones((2, 3)))", "x.sum(axis=2)"),
}
