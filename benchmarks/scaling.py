"""Scaling: time against elements, leaves, equations and turns of a loop; fitted exponents, and where the time jumps.

    python benchmarks/scaling.py --python tinytrace=PATH jax=PATH [--only TEXT] [--most 1000000] [--out FOLDER]

Each curve is fitted by time = a n^k over its larger half. A *jump* is a pair of neighbours between which the time per n
grows by more than 2: a limit that was hit, a cache that was left, a loop that is compiled in another way.
"""
from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).parent
JUMP = 2.0
Call = Callable[[], Any]
Curve = Callable[[Any, Any, int], Call]
CURVES: dict[str, tuple[Curve, int, int]] = {}
"""(a maker of calls, the least n, the greatest n) by name."""


def curve(name: str, least: int, most: int) -> Callable[[Curve], Curve]:
    """Put a curve into the table."""

    def decorate(make: Curve) -> Curve:
        CURVES[name] = make, least, most
        return make

    return decorate


# --- elements ----------------------------------------------------------------------------------------------------

def _elements(name: str, function: Callable[[Any, Any, Any], Any], most: int = 10_000_000) -> None:
    @curve(f"{name}, elements", 10, most)
    def make(jax: Any, jnp: Any, n: int) -> Call:
        x = jnp.asarray(np.random.default_rng(0).standard_normal(n).astype(np.float32))
        run = jax.jit(lambda x: function(jax, jnp, x))
        return lambda: run(x)


_elements("x + 1", lambda jax, jnp, x: x + 1)
_elements("exp(sin(x))", lambda jax, jnp, x: jnp.exp(jnp.sin(x)))
_elements("sum", lambda jax, jnp, x: x.sum())
_elements("variance", lambda jax, jnp, x: jnp.var(x))
_elements("softmax", lambda jax, jnp, x: jax.nn.softmax(x))
_elements("cumsum", lambda jax, jnp, x: jnp.cumsum(x))
_elements("sort", lambda jax, jnp, x: jnp.sort(x))
_elements("median", lambda jax, jnp, x: jnp.median(x))
_elements("histogram", lambda jax, jnp, x: jnp.histogram(x)[0])
_elements("polynomial of degree 15", lambda jax, jnp, x: jnp.polyval(jnp.arange(16.0), x))
_elements("x[::-1] + x", lambda jax, jnp, x: x[::-1] + x)
_elements("concatenate", lambda jax, jnp, x: jnp.concatenate([x, x]))
_elements("gradient of a norm", lambda jax, jnp, x: jax.grad(lambda y: jnp.sqrt((y * y).sum()))(x))
_elements("float16 chain", lambda jax, jnp, x: jnp.tanh(x.astype(jnp.float16) * 2) + 1)
_elements("un-jitted x * 2 + 1", lambda jax, jnp, x: x * 2 + 1)


@curve("gather, elements", 10, 10_000_000)
def _gather(jax: Any, jnp: Any, n: int) -> Call:
    x = jnp.asarray(np.random.default_rng(0).standard_normal(n).astype(np.float32))
    places = jnp.asarray(np.random.default_rng(1).permutation(n).astype(np.int32))
    run = jax.jit(lambda x, places: x[places])
    return lambda: run(x, places)


@curve("matrix product, elements", 16, 10_000_000)
def _product(jax: Any, jnp: Any, n: int) -> Call:
    x = jnp.ones((math.isqrt(n), math.isqrt(n)), jnp.float32)
    run = jax.jit(lambda x: x @ x)
    return lambda: run(x)


@curve("transposition, elements", 16, 10_000_000)
def _transposition(jax: Any, jnp: Any, n: int) -> Call:
    x = jnp.ones((math.isqrt(n), math.isqrt(n)), jnp.float32)
    run = jax.jit(lambda x: x.T + 0)
    return lambda: run(x)


# --- leaves ------------------------------------------------------------------------------------------------------

@curve("call with n arrays, leaves", 1, 10_000)
def _arrays(jax: Any, jnp: Any, n: int) -> Call:
    xs = [jnp.ones(4) + k for k in range(n)]
    run = jax.jit(lambda *xs: xs[0] + xs[-1])
    return lambda: run(*xs)


@curve("dicts of {w, b}, leaves", 2, 10_000)
def _dicts(jax: Any, jnp: Any, n: int) -> Call:
    layers = [{"w": jnp.ones(4), "b": jnp.ones(1)} for _ in range(n // 2)]
    run = jax.jit(lambda layers: layers[0]["w"] + layers[-1]["b"])
    return lambda: run(layers)


@curve("n results, leaves", 1, 1000)
def _results(jax: Any, jnp: Any, n: int) -> Call:
    xs = [jnp.ones(4) for _ in range(n)]
    run = jax.jit(lambda xs: [x + 1 for x in xs])
    return lambda: run(xs)


# --- equations and turns -----------------------------------------------------------------------------------------

def _chain(n: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        for _ in range(n // 2):
            x = x * 0.5 + 1.0
        return x

    return function


@curve("tracing, equations", 10, 30_000)
def _tracing(jax: Any, jnp: Any, n: int) -> Call:
    x = jnp.ones(4)
    return lambda: jax.make_jaxpr(_chain(n))(x)


@curve("printing, equations", 10, 30_000)
def _printing(jax: Any, jnp: Any, n: int) -> Call:
    jaxpr = jax.make_jaxpr(_chain(n))(jnp.ones(4))
    return lambda: str(jaxpr)


@curve("lowering, equations", 10, 1000)
def _lowering(jax: Any, jnp: Any, n: int) -> Call:
    x = jnp.ones(4)
    return lambda: jax.jit(_chain(n)).lower(x).as_text()


@curve("fori_loop, turns", 10, 1_000_000)
def _turns(jax: Any, jnp: Any, n: int) -> Call:
    x = jnp.ones(4)
    run = jax.jit(lambda x: jax.lax.fori_loop(0, n, lambda i, x: x * 0.5 + 1, x))
    return lambda: run(x)


@curve("vmap of a solve 4x4, batch", 1, 100_000)
def _batch(jax: Any, jnp: Any, n: int) -> Call:
    a = jnp.asarray(np.eye(4, dtype=np.float32) * 4 + np.random.default_rng(0).random((n, 4, 4), np.float32))
    run = jax.jit(jax.vmap(lambda a: jnp.linalg.solve(a, a[0])))
    return lambda: run(a)


# --- measuring ---------------------------------------------------------------------------------------------------

def sizes(least: int, most: int) -> list[int]:
    """Return the steps between two sizes, about three for each factor of ten, and those beside powers of two."""
    found = {round(least * 10 ** (k / 3)) for k in range(30)} | {63, 65, 1023, 1025, 65_000, 66_000}
    return sorted(n for n in found if least <= n <= most)


def measure(rival: str, name: str, most: int) -> list[tuple[int, float]]:
    """Return the points of a curve, in seconds; where the time jumps, both sides are measured again."""
    jax, jnp = importlib.import_module(rival), importlib.import_module(f"{rival}.numpy")
    make, least, greatest = CURVES[name]
    points: dict[int, float] = {}
    for n in sizes(least, min(greatest, most)):
        points[n] = seconds_of(make(jax, jnp, n), jax.block_until_ready)
        if points[n] > 2:
            break
    for _ in range(2):
        for n, m in itertools.pairwise(list(points)):
            if is_jump(n, points[n], m, points[m]):
                points.update({k: min(points[k], seconds_of(make(jax, jnp, k), jax.block_until_ready)) for k in (n, m)})
    return list(points.items())


def seconds_of(call: Call, wait: Callable[[Any], Any]) -> float:
    """Return the least time of a call, in seconds."""
    wait(call())
    begun = time.perf_counter()
    wait(call())
    best = once = max(time.perf_counter() - begun, 1e-7)
    for _ in range(5 if once < 0.2 else 0):
        calls = max(1, min(5000, int(0.005 / best)))
        begun = time.perf_counter()
        for _ in range(calls):
            wait(call())
        best = min(best, (time.perf_counter() - begun) / calls)
    return best


def is_jump(n: int, seconds: float, m: int, later: float) -> bool:
    """Does the time per n grow by more than `JUMP`?"""
    return later / seconds > JUMP * m / n


def exponent(points: list[tuple[int, float]]) -> float:
    """Return k of time = a n^k, fitted over the larger half."""
    n, seconds = np.log(np.array(points[len(points) // 2:])).T
    return float(np.polyfit(n, seconds, 1)[0]) if len(n) > 1 else math.nan


def jumps(points: list[tuple[int, float]]) -> list[str]:
    """Return the neighbours between which the time per n grows by more than `JUMP`."""
    return [f"{n:,} to {m:,}: {t / s:.1f}" for (n, s), (m, t) in itertools.pairwise(points) if is_jump(n, s, m, t)]


def main() -> None:
    if sys.argv[1] == "--measure":
        print(json.dumps(measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", required=True, metavar="RIVAL=PATH")
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args()
    pythons = dict(item.split("=", 1) for item in options.python)
    rows = ["# Scaling", "", "| curve | n | exponents | worst ratio to JAX | jumps |", "|---|---|---|---|---|"]
    for name in [name for name in CURVES if options.only in name]:
        points = {rival: _in_process(python, rival, name, options.most) for rival, python in pythons.items()}
        rows.append(_row(name, points))
        print(rows[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "scaling.md").write_text("\n".join(rows) + "\n")


def _in_process(python: str, rival: str, name: str, most: int) -> list[tuple[int, float]]:
    done = subprocess.run([python, __file__, "--measure", rival, name, str(most)], capture_output=True, text=True,
                          env={**os.environ, "JAX_PLATFORMS": "cpu"}, timeout=600)
    return [tuple(point) for point in json.loads(done.stdout.splitlines()[-1])] if done.returncode == 0 else []


def _row(name: str, points: dict[str, list[tuple[int, float]]]) -> str:
    own, theirs = points["tinytrace"], dict(points.get("jax", []))
    if not own:
        return f"| {name} | failed | | | |"
    worst = max(((t / theirs[n], n) for n, t in own if n in theirs), default=None)
    exponents = ", ".join(f"{rival} {exponent(found):.2f}" for rival, found in points.items() if len(found) > 3)
    return (f"| {name} | {own[0][0]:,} to {own[-1][0]:,} | {exponents} | "
            f"{'' if worst is None else f'{worst[0]:.2f} at {worst[1]:,}'} | {'; '.join(jumps(own))} |")


if __name__ == "__main__":
    main()
