"""One rival of the sweep in its own process: chooses arguments and times single cases, as JSON over pipes.

    choose [module, name, dtype]                       -> {"choice": the argument list that the function takes, or null}
    case [module, name, choice, size, dtype, jitted], samples  -> {"seconds": the least of the samples}

A case that takes longer than `CASE_SECONDS` ends the process: nothing else stops what runs in C.
"""
from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np
from sweeping.arguments import Key, arguments_of, choices

SAMPLE_SECONDS, MOST_SECONDS, CASE_SECONDS = 0.001, 0.3, 20
"""Samples are shorter than a time slice of the system: on a busy machine some of them are whole."""
WARM_SECONDS = 0.04
"""Of processor time, of quick calls: un-jitted programs that repeat are compiled when NumPy has spent half of that."""
WIDE = {"float64", "complex128", "int64", "uint64"}
DRAWS: dict[str, Any] = {
    "uniform": lambda draw, shape: draw.random(shape, np.float32),
    "normal": lambda draw, shape: draw.standard_normal(shape, np.float32),
    "exponential": lambda draw, shape: draw.standard_exponential(shape, np.float32),
    "gamma": lambda draw, a, shape: draw.standard_gamma(a, shape, np.float32),
    "bits": lambda draw, shape: draw.integers(0, 2 ** 32, shape, np.uint32),
    "randint": lambda draw, shape, low, high: draw.integers(low, high, shape, np.int32),
    "permutation": lambda draw, x: draw.permutation(x),
    "poisson": lambda draw, rate, shape: draw.poisson(rate, shape),
    "beta": lambda draw, a, b, shape: draw.beta(a, b, shape),
    "choice": lambda draw, n, shape: draw.choice(n, shape),
}
"""What NumPy's generator does for a function of `random`."""


OTHER_MEANINGS: dict[tuple[str, str], Any] = {
    ("lax", "broadcast"): lambda x, sizes: np.broadcast_to(x, (*sizes, *x.shape)),
}
"""What NumPy has for functions whose names mean something else there."""


def main() -> None:
    rival = sys.argv[1]
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    warnings.simplefilter("ignore")
    for text in sys.stdin:
        command = json.loads(text)
        signal.alarm(CASE_SECONDS)
        try:
            reply = choose(rival, *command["choose"]) if "choose" in command else case(rival, **command)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:200]}
        signal.alarm(0)
        print(json.dumps(reply), file=replies, flush=True)


def choose(rival: str, module: str, name: str, dtype: str) -> dict[str, Any]:
    for choice, _ in choices(name):
        try:
            for jitted in (False, True):
                call_of(rival, module, name, choice, 10, dtype, jitted)()
        except Exception:
            continue
        return {"choice": choice}
    return {"choice": None}


def case(rival: str, case: list[Any], samples: int) -> dict[str, Any]:
    call = call_of(rival, *case)
    call()  # compiles
    begun = time.perf_counter()
    call()
    best = time.perf_counter() - begun
    warm = time.process_time()
    while best < WARM_SECONDS / 10 and time.process_time() - warm < WARM_SECONDS:
        call()
    call()
    begun = time.perf_counter()
    for _ in range(samples):
        if time.perf_counter() - begun > MOST_SECONDS:
            break
        calls = max(1, min(20000, int(SAMPLE_SECONDS / max(best, 1e-8))))
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return {"seconds": best}


def call_of(rival: str, module: str, name: str, choice: str, size: int, dtype: str, jitted: bool) -> Any:
    """Return a call of a function with arguments that are this library's arrays."""
    arguments = arguments_of(name, choice, size, np.dtype(_dtype(dtype)))
    if rival == "numpy":
        if jitted:
            raise LookupError("no implementation")
        return functools.partial(_in_numpy(module, name), *[x for x in arguments if not isinstance(x, Key)])
    jax = importlib.import_module(rival)
    jax.config.update("jax_enable_x64", dtype in WIDE)  # else they are narrowed, and NumPy's are not
    function = getattr(importlib.import_module(f"{rival}.{module}"), name)
    operands = [_operand(jax, x) for x in arguments]
    is_array = [isinstance(x, (Key, np.ndarray, list)) for x in arguments]

    def with_statics(*arrays: Any) -> Any:
        rest = iter(arrays)
        return function(*[next(rest) if flag else x for x, flag in zip(arguments, is_array, strict=True)])

    run = functools.partial(function, *operands)
    if jitted:
        run = functools.partial(jax.jit(with_statics), *[x for x, flag in zip(operands, is_array, strict=True) if flag])
    return (lambda: jax.block_until_ready(run())) if rival == "jax" else run


def _operand(jax: Any, x: Any) -> Any:
    """Return an argument as this library's array; what is static stays."""
    if isinstance(x, Key):
        return jax.random.key(0)
    if isinstance(x, list):
        return [jax.numpy.asarray(item) for item in x]
    return jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x


def _dtype(name: str) -> Any:
    return importlib.import_module("ml_dtypes").bfloat16 if name == "bfloat16" else name


def _in_numpy(module: str, name: str) -> Any:
    if (module, name) in OTHER_MEANINGS:
        return OTHER_MEANINGS[module, name]
    if module == "scipy.special":
        return getattr(importlib.import_module(module), name)
    if module == "random":
        return functools.partial(DRAWS[name], np.random.default_rng(0))
    place = {"numpy.linalg": np.linalg, "numpy.fft": np.fft}.get(module, np)
    return getattr(place, name)


if __name__ == "__main__":
    main()
