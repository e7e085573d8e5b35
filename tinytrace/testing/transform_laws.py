"""Laws of transformations: what jit, vmap, jvp, vjp, linearize and checkpoint may not change, and what they must give.

Functions run by the meanings of operations in NumPy here (`interpreting`): a law about derivatives is not about C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.autodiff import jvp, vjp
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.vmapping import vmap
from tinytrace.config import enable_x64
from tinytrace.control_flow.bodies import stored
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import FLOAT0, is_complex, is_inexact
from tinytrace.core.jaxpr import eval_jaxpr
from tinytrace.core.numpy_calls import to_numpy
from tinytrace.core.own_primitive import stated_rule
from tinytrace.core.primitive import Primitive, Refusal, registry
from tinytrace.core.storage import storage_type
from tinytrace.core.trace import interpreting
from tinytrace.core.trees import tree_leaves, tree_map
from tinytrace.numpy import asarray, stack
from tinytrace.testing.assertions import assert_same
from tinytrace.testing.transformed import KINDS, linearized, pulled, pushed, tangent_of_ones
from tinytrace.testing.values import Value

Function = Callable[..., Any]
RULES = ("abstract_eval", "impl", "jvp", "transpose", "batch", "lower")


def assert_transform_laws(fun: Function, *args: Any, results: Sequence[Value] | None = None,
                          smooth: bool = False) -> None:
    """Check the laws of transformations for `fun` at `args`.

    Its jaxpr means what it means; under `checkpoint` and `vmap` it gives what it gives; `vmap` over several arguments
    gives the stack of its results. Nothing is compiled: `assert_backends_agree` is about that.

    Args:
      results: the errors that results may have; see `assert_backends_agree`.
      smooth: whether `fun` has derivatives at `args`. Then those of `jvp` are compared with differences, in float64;
        `linearize` gives the same tangents, and `vjp` is the transpose of `jvp`.
    Raises: AssertionError naming the law.

    >>> import tinytrace.numpy as jnp
    >>> assert_transform_laws(lambda x: jnp.sin(x) * x, jnp.arange(3.0), smooth=True)
    """
    with interpreting():
        expected = tree_leaves(fun(*args))
    closed = make_jaxpr(fun)(*args)
    with interpreting():
        assert_same(eval_jaxpr(closed.jaxpr, closed.consts, *tree_leaves(args)), expected, results, "its jaxpr: ")
        for name in ("checkpointed", "mapped"):
            assert_same(tree_leaves(KINDS[name](fun)(*args)), expected, results, f"{name}: ")
    assert_batching(fun, args, results)
    if smooth:
        assert_derivatives(fun, args)


def assert_batching(fun: Function, args: Sequence[Any], results: Sequence[Value] | None = None) -> None:
    """Check that `vmap` of `fun` gives the stack of what `fun` gives, for rows that differ."""
    rows = [tuple(args), tree_map(_rolled, tuple(args))]
    with interpreting():
        batch = tree_map(lambda *xs: stack(xs), *rows)
        together = tree_leaves(vmap(fun)(*batch))
        for k, row in enumerate(rows):
            alone = tree_leaves(fun(*row))
            assert_same([asarray(x)[k] for x in together], alone, results, f"row {k} under vmap: ")


def assert_derivatives(fun: Function, args: Sequence[Any]) -> None:
    """Check `jvp` against differences, `linearize` against `jvp`, and that `vjp` is the transpose of `jvp`."""
    with enable_x64(True), interpreting():
        wide = tree_map(_widened, tuple(args))
        tangents = pushed(fun)(*wide)
        step = 1e-6
        ahead, behind = (_float_leaves(fun(*tree_map(lambda x, s=sign: _moved(x, s * step), wide)))
                         for sign in (1, -1))
        for k, (tangent, plus, minus) in enumerate(zip(tangents, ahead, behind, strict=True)):
            _assert_close(tangent, (plus - minus) / (2 * step), f"tangent {k} and the difference quotient", 2e-4)
        for k, (x, y) in enumerate(zip(linearized(fun)(*wide), tangents, strict=True)):
            _assert_close(x, y, f"tangent {k} by linearize and by jvp", 1e-9)
        _assert_transposed(fun, wide)


def _assert_transposed(fun: Function, args: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(0)

    def random(x: Any) -> Any:
        dtype = aval_of(x).dtype
        if not is_inexact(dtype):
            return tangent_of_ones(x)
        numbers = rng.normal(size=np.shape(x))
        return asarray((numbers + 1j * rng.normal(size=np.shape(x)) if is_complex(dtype) else numbers).astype(dtype))

    directions = tree_map(random, args)
    out, out_tangents = jvp(fun, args, directions)
    cotangents = tree_map(random, out)
    pulled_back = vjp(fun, *args)[1](cotangents)
    forward, backward = _product(cotangents, out_tangents), _product(pulled_back, directions)
    _assert_close(forward, backward, "<ct, J t> and <J^T ct, t>", 1e-7)
    assert len(pulled(fun)(*args)) == sum(is_inexact(aval_of(x).dtype) for x in tree_leaves(args))


def _product(xs: Any, ys: Any) -> Any:
    """Return the sum of products; of complex numbers the real part, by which JAX says what a cotangent is."""
    pairs = zip(tree_leaves(xs), tree_leaves(ys), strict=True)
    return sum(float(np.sum(stored(x) * stored(y)).real) for x, y in pairs if FLOAT0 not in (x.dtype, y.dtype))


def _assert_close(x: Any, y: Any, what: str, tolerance: float) -> None:
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), tolerance, tolerance, err_msg=what)


def _rolled(x: Any) -> Any:
    return asarray(np.roll(stored(x).reshape(-1), 1).reshape(np.shape(x)))


def _widened(x: Any) -> Any:
    dtype = aval_of(x).dtype
    return asarray(stored(x), np.complex128 if is_complex(dtype) else np.float64) if is_inexact(dtype) else x


def _moved(x: Any, step: float) -> Any:
    return x + step if is_inexact(aval_of(x).dtype) else x


def _float_leaves(tree: Any) -> list[Any]:
    return [np.asarray(x) for x in tree_leaves(tree) if is_inexact(x.dtype)]


# --- primitives ----------------------------------------------------------------------------------------------------

def assert_primitive_complete(primitive: Primitive | str, samples: Iterable[tuple[Sequence[Any], dict[str, Any]]] = ()
                              ) -> None:
    """Check that a primitive says what every primitive must say, and that on samples its rules say the same thing.

    Each of its six rules is written, or refused with a reason. For each sample `(args, params)`: the meaning has the
    type that `abstract_eval` says, and where there is a batching rule, a batch is the stack of single calls.

    Raises: AssertionError naming the rule.

    >>> assert_primitive_complete("sin", [((np.float32([1, 2]),), {})])
    """
    primitive = registry[primitive] if isinstance(primitive, str) else primitive
    for rule in RULES:
        assert stated_rule(primitive, rule) is not None, f"{primitive} is silent about {rule}: write it or refuse it"
    for args, params in samples:
        avals = [aval_of(x) for x in args]
        said = _listed(primitive, primitive.abstract_eval(*avals, **params))
        with np.errstate(all="ignore"):
            done = _listed(primitive, primitive.impl(*map(to_numpy, args, avals), **params))
        for aval, value in zip(said, done, strict=True):
            found = np.shape(value), np.asarray(value).dtype
            right = aval.shape, storage_type(aval.dtype)
            assert found == right, f"{primitive}: impl gives {found}, abstract_eval says {aval}"
        if not isinstance(primitive.batch, Refusal) and any(np.ndim(x) for x in args):
            assert_batching(lambda *xs, p=params: _listed(primitive, primitive.bind(*xs, **p)),
                            list(args))


def _listed(primitive: Primitive, outs: Any) -> list[Any]:
    return list(outs) if primitive.multiple_results else [outs]
