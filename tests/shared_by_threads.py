"""Threads that share arrays, jitted functions and containers for a while: `python -m tests.shared_by_threads SECONDS`.

A program for sanitizers (`make sanitize`). Every thread goes through all of the work below, in an order of its own, on
the same objects as the others, and checks every answer.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.runtime.threads import set_num_threads

LARGE = np.linspace(0, 1, 70_000, dtype=np.float32)


class Shared:
    """What the threads have in common; some of it is renewed by whoever passes by."""

    def __init__(self) -> None:
        self.from_numpy = jnp.reshape(LARGE, (100, 700))
        self.arrays = [jnp.ones(5) * n for n in range(4)]
        self.named = {"a": jnp.ones(3), "b": [jnp.zeros(3), 2.0]}
        self.add = jax.jit(lambda x, y: x + y)
        self.rows = jax.jit(lambda x: (jnp.tanh(x).sum(1), x))
        self.product = jax.jit(lambda x: x @ x.T)
        self.factors = jax.jit(lambda x: (jnp.linalg.cholesky(x), *jnp.linalg.slogdet(x)))
        self.total = jax.jit(lambda xs: sum(xs))
        self.tree = jax.jit(lambda d: {"sum": d["a"] + d["b"][0] * d["b"][1]})
        self.scaled = jax.jit(lambda x, n: x * n, static_argnums=1)
        self.called_back = jax.jit(lambda x: jax.pure_callback(lambda y: y + 1, x, x) * 2)
        self.looped = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda i, x: jnp.cos(x), x))


def numpy_array_read_first(shared: Shared) -> None:
    sums, x = shared.rows(shared.from_numpy)
    np.testing.assert_allclose(sums, np.tanh(LARGE.reshape(100, 700)).sum(1), 1e-4)
    np.testing.assert_array_equal(x, LARGE.reshape(100, 700))


def renew_the_numpy_array(shared: Shared) -> None:
    shared.from_numpy = jnp.reshape(LARGE, (100, 700))


def call_on_scalars_and_arrays(shared: Shared) -> None:
    assert float(shared.add(1.5, 2)) == 3.5
    np.testing.assert_array_equal(shared.add(shared.arrays[1], LARGE[:5]), LARGE[:5] + 1)


def read_a_list(shared: Shared) -> None:
    np.testing.assert_array_equal(shared.total(shared.arrays), np.full(5, 6.0))


def renew_a_list(shared: Shared) -> None:
    shared.arrays[:] = [jnp.ones(5) * n for n in range(4)]


def read_a_dict(shared: Shared) -> None:
    np.testing.assert_array_equal(shared.tree(shared.named)["sum"], np.ones(3))


def statics(shared: Shared) -> None:
    number = random.randrange(4)
    np.testing.assert_array_equal(shared.scaled(np.ones(3, np.float32), number), np.full(3, number))


def products(shared: Shared) -> None:
    out = shared.product(shared.from_numpy)
    assert np.isfinite(np.asarray(out)).all()


def factorizations(shared: Shared) -> None:
    """By LAPACK, on the threads of the pool: whole matrices of a batch, and blocks of a large one."""
    n = random.choice([40, 400])
    matrices = np.broadcast_to(4 * np.eye(n, dtype=np.float32), (3 if n == 40 else 1, n, n))
    factor, sign, logdet = shared.factors(matrices)
    np.testing.assert_array_equal(factor, matrices / 2)
    np.testing.assert_array_equal(sign, np.ones(len(matrices)))
    np.testing.assert_allclose(logdet, np.full(len(matrices), n * np.log(4)), 1e-5)


def callbacks(shared: Shared) -> None:
    assert float(shared.called_back(np.float32(2))) == 6


def loops(shared: Shared) -> None:
    np.testing.assert_allclose(shared.looped(np.ones(2, np.float32)), 0.739, 1e-3)


def fresh_functions(shared: Shared) -> None:
    assert float(jax.jit(lambda x: x * 2 + 1)(3.0)) == 7


def eager_functions(shared: Shared) -> None:
    x = shared.arrays[2]
    np.testing.assert_array_equal(jnp.where(x > 1, x + 1, jnp.zeros_like(x)), np.full(5, 3.0))


def look_at_elements(shared: Shared) -> None:
    for x in list(shared.arrays):
        assert not np.asarray(x).flags.writeable


def clear(shared: Shared) -> None:
    if random.random() < 0.02:
        shared.add.clear_cache()
    if random.random() < 0.005:
        jax.clear_caches()


def change_the_number_of_threads(shared: Shared) -> None:
    if random.random() < 0.05:
        set_num_threads(random.randrange(1, 5))


WORK: list[Callable[[Shared], None]] = [
    numpy_array_read_first, renew_the_numpy_array, call_on_scalars_and_arrays, read_a_list, renew_a_list, read_a_dict,
    statics, products, factorizations, callbacks, loops, fresh_functions, eager_functions, look_at_elements, clear,
    change_the_number_of_threads]  # fmt: skip


def main(seconds: float, count: int = 6) -> int:
    """Run for so many seconds; 0 if all answers were right."""
    shared, turns, failures = Shared(), [0] * count, []
    end = time.monotonic() + seconds

    def run(number: int) -> None:
        try:
            while time.monotonic() < end and not failures:
                for work in random.sample(WORK, len(WORK)):
                    work(shared)
                turns[number] += 1
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{count} threads, {sum(turns)} turns over {len(WORK)} kinds of work, {len(failures)} failures", flush=True)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
