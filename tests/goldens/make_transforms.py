"""Asks JAX 0.4.35 what transformed programs print and compute: `python -m tests.goldens.make_transforms`.

Run it from the root of the repository, in an environment made by `pip install jax==0.4.35`. Writes transforms.json: a
scene, and programs `{fn, args}` with the text of `make_jaxpr(fn)(*args)` and the leaves of `fn(*args)`.
"""

from __future__ import annotations

import json
import pathlib
import re

import jax
import numpy as np

SCENE = """
import functools
from collections import namedtuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, nn, grad, value_and_grad, jvp, vjp, linearize, vmap, jit, jacfwd, jacrev, hessian

Point = namedtuple("Point", ["x", "y"])
x = 0.5
v = jnp.array([0.5, -1.5, 2.0])
w = jnp.array([1.0, 2.0, 3.0])
p = jnp.array([0.25, 0.5, 0.75])
m = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
sq = jnp.array([[2.0, 1.0], [1.0, 3.0]])
t3 = jnp.arange(24.0).reshape(2, 3, 4)
i3 = jnp.array([2, 0, 1])
h = jnp.array([0.5, 1.5, 2.5], dtype=jnp.float16)
tree = {"w": m * 0.1, "b": jnp.array([0.5, -0.5])}

def mlp(params, x):
    return jnp.tanh(params["w"] @ x + params["b"])

def loss(params, x):
    return jnp.sum(mlp(params, x) ** 2)

def jvp_of_grad(f):
    return lambda x: jvp(grad(f), (x,), (1.0,))

@jax.custom_jvp
def with_jvp(x):
    return jnp.sin(x) * 2

with_jvp.defjvp(lambda primals, tangents: (with_jvp(*primals), jnp.cos(primals[0]) * 2 * tangents[0]))

@jax.custom_vjp
def with_vjp(x):
    return jnp.sin(x) * 2

with_vjp.defvjp(lambda x: (with_vjp(x), jnp.cos(x)), lambda cos, ct: (cos * 2 * ct,))
"""

PROGRAMS = """
grad(lambda x: x) | x
grad(lambda x: 3 * x + 2) | x
grad(lambda x: x * x * x) | x
grad(lambda x: x ** 3) | x
grad(lambda x: x ** -2) | x
grad(lambda x: x ** 0.5) | x
grad(lambda x: 2.0 ** x) | x
grad(lambda x: x ** x) | x
grad(lambda x: 1.0 / x) | x
grad(lambda x: x / (x + 1)) | x
grad(lambda x: -x) | x
grad(lambda x: abs(x)) | x
grad(lambda x: 1.0) | x
grad(lambda x: jnp.float32(7)) | x
grad(jnp.sin) | x
grad(jnp.cos) | x
grad(jnp.tan) | x
grad(jnp.exp) | x
grad(jnp.log) | x
grad(jnp.log1p) | x
grad(jnp.expm1) | x
grad(jnp.sqrt) | x
grad(lax.rsqrt) | x
grad(jnp.arctan) | x
grad(jnp.arcsin) | x
grad(jnp.sinh) | x
grad(jnp.cosh) | x
grad(jnp.square) | x
grad(jnp.sign) | x
grad(jnp.floor) | x
grad(jnp.arctan2) | x, 2.0
grad(jnp.arctan2, argnums=(0, 1)) | x, 2.0
grad(jnp.maximum) | x, 2.0
grad(jnp.minimum, argnums=1) | x, 2.0
grad(jnp.hypot) | x, 2.0
grad(jnp.logaddexp) | x, 2.0
grad(lambda x, y: x * y, argnums=1) | x, 2.0
grad(lambda x, y: x * y, argnums=(0, 1)) | x, 2.0
grad(lambda x, y: x * y + y, argnums=(1, 0)) | x, 2.0
grad(lambda x: jnp.sin(jnp.cos(x)) * jnp.cos(x)) | x
grad(lambda x: jnp.sum(x)) | v
grad(lambda x: jnp.mean(x)) | v
grad(lambda x: jnp.max(x)) | v
grad(lambda x: jnp.min(x)) | v
grad(lambda x: jnp.prod(x)) | w
grad(lambda x: jnp.var(x)) | v
grad(lambda x: jnp.std(x)) | v
grad(lambda x: jnp.sum(x * w)) | v
grad(lambda x: jnp.sum(w / x)) | v
grad(lambda x: jnp.dot(x, x)) | v
grad(lambda x: jnp.vdot(x, w)) | v
grad(lambda x: jnp.sum(x @ v)) | m
grad(lambda x: jnp.sum(m @ x)) | v
grad(lambda x: jnp.sum(x @ x.T)) | m
grad(lambda x: jnp.sum((x @ sq) @ x)) | sq
grad(lambda x: jnp.trace(x)) | sq
grad(lambda x: jnp.sum(jnp.outer(x, x))) | v
grad(lambda x: jnp.sum(x.reshape(3, 2)[1])) | m
grad(lambda x: jnp.sum(x.T[1:])) | m
grad(lambda x: jnp.sum(x[::2])) | v
grad(lambda x: jnp.sum(x[::-1] * w)) | v
grad(lambda x: x[1]) | v
grad(lambda x: x[-1] * x[0]) | v
grad(lambda x: jnp.sum(x[0] * x[1])) | m
grad(lambda x: jnp.sum(x[:, 1])) | m
grad(lambda x: jnp.sum(x[i3] * w)) | v
grad(lambda x: jnp.sum(jnp.concatenate([x, x * 2]))) | v
grad(lambda x: jnp.sum(jnp.stack([x, w]) ** 2)) | v
grad(lambda x: jnp.sum(jnp.pad(x, 1) ** 2)) | v
grad(lambda x: jnp.sum(jnp.where(x > 0, x ** 2, 0.0))) | v
grad(lambda x: jnp.sum(jnp.clip(x, -1.0, 1.0))) | v
grad(lambda x: jnp.sum(jnp.cumsum(x) * w)) | v
grad(lambda x: jnp.sum(jnp.sort(x) * w)) | v
grad(lambda x: jnp.sum(jnp.broadcast_to(x, (2, 3)) * m)) | v
grad(lambda x: jnp.sum(x[:, None] * x[None, :])) | v
grad(lambda x: jnp.sum(x + m)) | v
grad(lambda x: jnp.sum(jnp.tanh(x) * x)) | v
grad(lambda x: jnp.sum(nn.sigmoid(x))) | v
grad(lambda x: jnp.sum(nn.softplus(x))) | v
grad(lambda x: jnp.sum(nn.relu(x) * x)) | v
grad(lambda x: nn.logsumexp(x)) | v
grad(lambda x: jnp.sum(nn.log_softmax(x) * w)) | v
grad(lambda x: jnp.sum(jnp.einsum('ij,kj->ik', x, x))) | m
grad(lambda x: jnp.sum(lax.dynamic_slice(x, (1,), (2,)))) | v
grad(lambda x: jnp.sum(lax.dynamic_update_slice(x, jnp.ones(1), (1,)))) | v
grad(lambda x: jnp.sum(x.at[0].set(0.0) * w)) | v
grad(lambda x: jnp.sum(x.at[1].add(2.0) ** 2)) | v
grad(lambda x: jnp.sum(lax.stop_gradient(x) * x)) | v
grad(lambda x: jnp.sum(x.astype(jnp.float16).astype(jnp.float32))) | v
grad(lambda x: jnp.sum(x ** 2)) | h
grad(lambda x: jnp.sum(jnp.squeeze(x[None]) * 2)) | v
grad(lambda x: jnp.linalg.norm(x)) | v
grad(loss) | tree, v
grad(loss, argnums=(0, 1)) | tree, v
grad(lambda q: q.x ** 2 * q.y) | Point(2.0, 3.0)
grad(lambda l: l[0] * l[1][0]) | [2.0, (3.0, 4.0)]
grad(lambda x: (x ** 2, {'y': x}), has_aux=True) | x
grad(lambda x, i: x * i) | x, 3
grad(lambda x, i: x * i, argnums=(0, 1), allow_int=True) | x, 3
grad(jit(lambda x: jnp.sin(x) * x)) | x
grad(jit(lambda x, y: x * y)) | x, 2.0
grad(lambda x: jit(jnp.sin)(x) * jit(jnp.cos)(x)) | x
grad(lambda x: jit(lambda y: y * x)(x)) | x
jit(grad(lambda x: jnp.sum(x ** 2))) | v
jit(grad(jit(lambda x: x ** 3))) | x
grad(grad(lambda x: x ** 3)) | x
grad(grad(jnp.sin)) | x
grad(grad(grad(jnp.sin))) | x
grad(grad(jit(lambda x: jnp.sin(x) * x))) | x
grad(lambda x: grad(lambda y: x * y ** 2)(x)) | x
grad(lambda x: x * grad(lambda y: x + y)(1.0)) | x
grad(lambda x: jnp.sum(vmap(lambda y: y * x)(w))) | x
grad(lambda x: jnp.sum(vmap(jnp.sin)(x))) | v
value_and_grad(lambda x: jnp.sum(x ** 2)) | v
value_and_grad(lambda x: (x ** 2, x), has_aux=True) | x
value_and_grad(lambda x, y: x * y, argnums=(0, 1)) | x, 2.0
value_and_grad(loss) | tree, v
lambda x: jvp(jnp.sin, (x,), (1.0,)) | x
lambda x, t: jvp(lambda x: x * jnp.exp(x), (x,), (t,)) | v, w
lambda x: jvp(lambda x, y: x * y, (x, 2.0), (1.0, 3.0)) | x
lambda x: jvp(lambda x: (x, x * 2), (x,), (1.0,)) | x
lambda x: jvp(lambda x: (x ** 2, {'y': x}), (x,), (1.0,), has_aux=True) | x
lambda x: jvp(lambda d: d['a'] / d['b'], ({'a': x, 'b': 2.0},), ({'a': 1.0, 'b': 1.0},)) | x
lambda x: jvp(lambda x: jnp.ones(3), (x,), (1.0,)) | x
lambda x: jvp(lambda x: x > 0, (x,), (1.0,))[0] | x
lambda x: jvp(jit(jnp.cos), (x,), (1.0,)) | x
lambda x: jvp(grad(jnp.sin), (x,), (1.0,)) | x
lambda x: jvp(lambda x: jvp(jnp.sin, (x,), (1.0,))[1], (x,), (1.0,)) | x
lambda x: jvp(lambda a: a @ v, (x,), (x,)) | m
lambda x: jvp(lambda x: jnp.max(x), (x,), (w,)) | v
lambda x: jvp(lambda x: jnp.where(x > 0, x, -x), (x,), (w,)) | v
lambda x: vjp(jnp.sin, x)[1](1.0) | x
lambda x, ct: vjp(lambda x: jnp.sin(x) * x, x)[1](ct) | v, w
lambda x, y: vjp(lambda x, y: (x * y, x + y), x, y)[1]((1.0, 2.0)) | x, 2.0
lambda x: vjp(lambda x: (x, 3.0), x)[1]((1.0, 1.0)) | x
lambda x: vjp(lambda x: jnp.zeros(3), x)[1](w) | x
lambda x: vjp(lambda x: {'a': x[0], 'b': x[1:]}, x)[1]({'a': 1.0, 'b': jnp.ones(2)}) | v
lambda x: vjp(lambda x: (x * 2, x), x, has_aux=True)[1](1.0) | x
lambda x, ct: vjp(lambda a: a @ sq, x)[1](ct) | sq, sq
lambda x: vjp(lambda x: jnp.broadcast_to(x, (2, 3)), x)[1](m) | v
lambda x: linearize(jnp.sin, x)[0] | x
lambda x: linearize(lambda x: jnp.sin(x) * x, x)[1](2.0) | x
lambda x: linearize(lambda x: (x * 2, jnp.cos(x)), x)[1](1.0) | x
lambda x: linearize(lambda x, y: x * y, x, 2.0)[1](1.0, 1.0) | x
lambda x, t: linearize(lambda x: m @ jnp.tanh(x), x)[1](t) | v, w
lambda t: jax.linear_transpose(lambda x: x * 2.0, x)(t) | 3.0
lambda t: jax.linear_transpose(lambda x: m @ x, v)(t) | jnp.ones(2)
lambda t: jax.linear_transpose(lambda x, y: 0.5 * x - y, x, x)(t) | 1.0
lambda t: jax.linear_transpose(lambda x: jnp.sum(x, axis=0), m)(t) | v
jacfwd(jnp.sin) | x
jacfwd(lambda x: x ** 2) | v
jacfwd(lambda x: m @ x) | v
jacfwd(lambda x, y: x * y, argnums=(0, 1)) | v, w
jacfwd(lambda x: (jnp.sum(x), x * 2)) | v
jacfwd(lambda d: d['a'] * d['b']) | {'a': v, 'b': 2.0}
jacfwd(lambda x: (x ** 2, jnp.sum(x)), has_aux=True) | v
jacrev(jnp.sin) | x
jacrev(lambda x: x ** 2) | v
jacrev(lambda x: m @ x) | v
jacrev(lambda x, y: x * y, argnums=1) | v, w
jacrev(lambda x: {'s': jnp.sum(x), 'd': x * 2}) | v
jacrev(lambda d: d['a'] * d['b']) | {'a': v, 'b': 2.0}
jacrev(lambda x: x @ x) | sq
hessian(lambda x: x ** 3) | x
hessian(lambda x: jnp.sum(x ** 3)) | v
hessian(lambda x: jnp.dot(x, x)) | v
hessian(lambda x: x[0] * jnp.sin(x[1])) | v
jacfwd(jacfwd(lambda x: jnp.sum(jnp.sin(x)))) | v
vmap(jnp.sin) | v
vmap(lambda x: x + 1) | v
vmap(lambda x: 3.0) | v
vmap(lambda x: jnp.ones(2)) | v
vmap(lambda x, y: x * y) | v, w
vmap(lambda x, y: x * y, in_axes=(0, None)) | v, 2.0
vmap(lambda x, y: x + y, in_axes=(None, 0)) | v, m
vmap(lambda x, y: x + y, in_axes=(1, 0)) | m, w
vmap(lambda x: x, in_axes=1, out_axes=0) | m
vmap(lambda x: x, in_axes=1, out_axes=1) | m
vmap(lambda x: x, in_axes=-1, out_axes=-1) | m
vmap(lambda x: (x, jnp.sum(x)), out_axes=(1, 0)) | m
vmap(lambda x: (jnp.sum(x), 2.0), out_axes=(0, None)) | m
vmap(lambda d: d['w'] @ v + d['b'], in_axes=({'w': None, 'b': 0},)) | tree
vmap(mlp, in_axes=(None, 0)) | tree, m
vmap(lambda x, y: x @ y) | sq, sq
vmap(lambda x, y: x @ y, in_axes=(0, 1)) | sq, sq
vmap(jnp.matmul, in_axes=(0, None)) | t3, t3[0].T
vmap(jnp.matmul) | t3, t3.transpose(0, 2, 1)
vmap(vmap(lambda x: x * 2)) | m
vmap(vmap(lambda x, y: x * y, (0, None)), (None, 0)) | v, w
vmap(lambda x: vmap(lambda y: x * y)(v)) | w
vmap(lambda x: jnp.sum(x, axis=0)) | t3
vmap(lambda x: jnp.max(x, axis=1)) | t3
vmap(lambda x: jnp.argmax(x)) | m
vmap(lambda x: jnp.cumsum(x)) | m
vmap(lambda x: jnp.sort(x)) | m
vmap(lambda x: x.reshape(4, 3)) | t3
vmap(lambda x: x.T) | t3
vmap(lambda x: x[1:]) | m
vmap(lambda x: x[::-1]) | m
vmap(lambda x: x[:, None]) | m
vmap(lambda x: jnp.squeeze(x[None])) | m
vmap(lambda x: jnp.concatenate([x, x])) | m
vmap(lambda x: jnp.concatenate([x, v])) | m
vmap(lambda x: jnp.stack([x, v])) | m
vmap(lambda x: jnp.pad(x, 1)) | m
vmap(lambda x: jnp.where(x > 0, x, -x)) | v
vmap(lambda x: jnp.clip(x, 0.0, 1.0)) | v
vmap(lambda x: jnp.dot(x, v)) | m
vmap(lambda x: jnp.outer(x, v)) | m
vmap(lambda x: jnp.broadcast_to(x, (2, 3))) | m
vmap(lambda x: x ** 2 + v) | m
vmap(lambda x, i: x[i]) | jnp.concatenate([m, m[:1]]), i3
vmap(lambda i: v[i]) | i3
vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))) | m, i3[:2]
vmap(lambda x: x.at[0].set(1.0)) | m
vmap(lambda x: x.at[0].add(x[1])) | m
vmap(lambda x: jnp.linalg.norm(x)) | m
vmap(lambda x: nn.softmax(x)) | m
vmap(lambda x: nn.relu(x)) | v
vmap(lambda x: x.astype(jnp.int32)) | v
vmap(jit(lambda x, y: x * y), in_axes=(0, None)) | v, 2.0
vmap(jit(lambda x, y: (x * y, y)), in_axes=(0, None)) | v, 2.0
jit(vmap(lambda x: x * 2)) | v
vmap(grad(jnp.sin)) | v
vmap(grad(lambda x: x)) | v
vmap(grad(lambda x: jnp.sum(x ** 2))) | m
vmap(grad(loss), in_axes=(None, 0)) | tree, m
jit(vmap(grad(lambda x: jnp.tanh(x) * x))) | v
vmap(lambda x: grad(lambda y: x * y)(2.0)) | v
grad(lambda x: jnp.sum(vmap(lambda y: jnp.dot(y, x))(m))) | v
grad(lambda x: jnp.sum(vmap(jnp.dot, in_axes=(0, None))(x, v))) | m
vmap(lambda x: jvp(jnp.sin, (x,), (1.0,))) | v
vmap(lambda x: vjp(jnp.sin, x)[1](1.0)) | v
vmap(lambda t: jvp(lambda x: x * v, (w,), (t,))[1]) | jnp.eye(3)
vmap(jacfwd(lambda x: x ** 2)) | m
vmap(lambda x: x, axis_size=2) | m
lambda _: vmap(lambda: 1.0, axis_size=3)() | x
"""

# Functions of one number, each under some of the stacks below.
FUNCTIONS = """
lambda x: 3 * x ** 3 - x ** 2 / 2 + 1
lambda x: jnp.log(1 + jnp.tanh(x) ** 2)
lambda x: (x + 1) / (x - 3)
lambda x: jnp.where(x > 0, jnp.sqrt(jnp.abs(x)), x ** 2)
jit(lambda x: jnp.cos(x) ** 2)
lambda x: jit(lambda y: jit(jnp.sin)(y) * y)(x) + x
lambda x: lax.scan(lambda c, a: (c * jnp.sin(a), c + a), x, v)[0]
lambda x: jnp.sum(lax.scan(lambda c, a: (c * a + x, (c, a * x)), x, v)[1][1])
lambda x: lax.fori_loop(0, 4, lambda i, c: c * x + i, 1.0)
lambda x: lax.cond(x > 0, lambda y: y * x, lambda y: jnp.sin(y), x * 2)
lambda x: lax.switch(1, [jnp.sin, jnp.cos, lambda y: y * y], x)
lambda x: jnp.sum(lax.map(lambda a: a * x, v))
jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
lambda x: jax.checkpoint(lambda y: jnp.exp(y * x))(x * 2)
nn.relu
nn.softplus
nn.silu
lambda x: nn.logsumexp(x * v)
lambda x: jnp.sum(vmap(lambda a: jnp.tanh(a * x))(v))
lambda x: grad(lambda y: y ** 3 * x)(x)
lambda x: lax.stop_gradient(x ** 2) * x
lambda x: x % 2.0 + x // 2.0
lambda x: jnp.maximum(x, x ** 2)
lambda x: jnp.clip(x * 2, -1.0, 1.0)
lambda x: jnp.sum(jnp.outer(x * v, w))
lambda x: jnp.sum((m * x) @ (m.T + x))
lambda x: (x * v)[1] * (x + w)[i3].sum()
lambda x: v.at[1].set(x).sum() + v.at[0].add(x ** 2).prod()
lambda x: jnp.cumsum(x * v)[-1] * jnp.cumprod(w + x)[1]
lambda x: jnp.sort(x * v)[0]
with_jvp
with_vjp
lambda x: with_jvp(with_jvp(x) * x)
lambda x: with_vjp(jnp.sin(with_vjp(x)))
"""

STACKS = """
jit(grad(F)) | 1.5
grad(jit(F)) | 1.5
grad(grad(F)) | 1.5
lambda x, t: linearize(F, x)[1](t) | 1.5, 1.0
vmap(grad(F)) | w
grad(lambda x: jnp.sum(vmap(F)(x))) | w
vmap(jit(F)) | w
hessian(F) | 1.5
jvp_of_grad(F) | 1.5
grad(lambda x: F(x) + F(x * 2)) | 1.5
vmap(vmap(F)) | m
grad(jax.checkpoint(F)) | 1.5
"""


def combinations() -> list[str]:
    """Each function under four of the stacks, and no stack with the same functions as another."""
    functions, stacks = FUNCTIONS.strip().splitlines(), STACKS.strip().splitlines()
    return [stacks[(5 * i + 3 * k) % len(stacks)].replace("F", f"({function})")
            for i, function in enumerate(functions) for k in range(4)]


def leaf(x: object) -> dict[str, object]:
    """A leaf of a result as data."""
    array = np.asarray(x)
    kind = "array" if isinstance(x, jax.Array) else "numpy" if isinstance(x, (np.ndarray, np.generic)) else "python"
    name = "float0" if array.dtype == jax.dtypes.float0 else str(array.dtype)
    return {"kind": kind, "dtype": name, "shape": list(array.shape), "weak": bool(getattr(x, "weak_type", False)),
            "data": None if name == "float0" else array.astype(float).reshape(-1).tolist()}


def record(fn: str, args: str, scene: dict[str, object]) -> dict[str, object]:
    """One program with its text and its result, or with the error that it ends in."""
    function, arguments = eval(fn, scene), eval(f"({args},)" if args else "()", scene)
    try:
        text = re.sub("0x[0-9a-f]+", "0x..", str(jax.make_jaxpr(function)(*arguments)))
        leaves = [leaf(x) for x in jax.tree_util.tree_leaves(function(*arguments))]
    except Exception as error:
        return {"fn": fn, "args": args, "error": f"{type(error).__name__}: {error}"}
    return {"fn": fn, "args": args, "text": text, "leaves": leaves}


def main() -> None:
    """Write transforms.json."""
    assert jax.__version__ == "0.4.35", f"the oracle is JAX 0.4.35, this is {jax.__version__}"
    np.set_printoptions(legacy="1.25")
    scene: dict[str, object] = {}
    exec(SCENE, scene)
    lines = PROGRAMS.strip().splitlines() + combinations()
    pairs = [[part.strip() for part in line.split(" | ")] for line in lines]
    programs = [record(fn, args, scene) for fn, args in pairs]
    text = ",\n".join(json.dumps(program) for program in programs)
    path = pathlib.Path(__file__).parent / "transforms.json"
    path.write_text(f'{{"scene": {json.dumps(SCENE)},\n"programs": [\n{text}\n]}}\n')
    print(f"{len(programs)} programs, {sum('error' in program for program in programs)} of them end in an error")


if __name__ == "__main__":
    main()
