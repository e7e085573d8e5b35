"""Whole processes: import and first call with a warm disk cache, the first call alone with a cold one, peak memory."""
from __future__ import annotations

from harness import ProcessLine, add

_TIMED = """
import time
start = time.perf_counter()
import {module} as jax
import {module}.numpy as jnp
import sys
if "{module}" == "jax":
    import tempfile, os
    jax.config.update("jax_compilation_cache_dir", os.path.join(tempfile.gettempdir(), "benchmark_jax_cache"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
"""

add(ProcessLine("fresh process, warm disk cache: x+1", 0.5, _TIMED + """
jax.jit(lambda x: x + 1)(jnp.ones(8)).block_until_ready()
print(time.perf_counter() - start)
""", quick=True))

add(ProcessLine("fresh process, warm disk cache: MLP step", 0.5, _TIMED + """
params = [(jnp.ones((n, m)) * 0.1, jnp.zeros(m)) for n, m in ((8, 16), (16, 16), (16, 4))]
def loss(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.sum(x ** 2)
def step(params, x):
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, x))
new = jax.jit(step)(params, jnp.ones(8))
[leaf.block_until_ready() for leaf in jax.tree_util.tree_leaves(new)]
print(time.perf_counter() - start)
"""))

# --- the first call of a fresh process: the library is imported and its arrays are made. A number that no cache has
# seen makes a new program, of which nothing is on disk; all else is as on any machine that is in use ---

_FIRST = """
import random, time
import {module} as jax
import {module}.numpy as jnp
c = 1 + random.SystemRandom().random()
def time_first_call(function, *args):
    leaves = jax.tree_util.tree_leaves
    for leaf in leaves(args):
        leaf.block_until_ready()
    start = time.perf_counter()
    for leaf in leaves(jax.jit(function)(*args)):
        leaf.block_until_ready()
    print(time.perf_counter() - start)
"""

add(ProcessLine("first call of a fresh process: x+1", 0.8, _FIRST + """
time_first_call(lambda x: x + c, jnp.ones(8))
"""))

add(ProcessLine("first call of a fresh process: sum of x*c", 0.8, _FIRST + """
time_first_call(lambda x: jnp.sum(x * c), jnp.ones(8))
"""))

add(ProcessLine("first call of a fresh process: gradient of 20 layers", 0.6, _FIRST + """
params = [(jnp.ones((16, 16)) * 0.1, jnp.zeros(16)) for _ in range(20)]
def loss(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b) * c
    return jnp.sum(x ** 2)
time_first_call(jax.grad(loss), params, jnp.ones(16))
"""))

add(ProcessLine("first call of a fresh process: chain of 1000", 0.6, _FIRST + """
def chain(x):
    x = x * c
    for _ in range(500):
        x = jnp.sin(x) * 2
    return x
time_first_call(chain, jnp.ones(8))
"""))

add(ProcessLine("peak memory of the selu process", 0.35, """
import {module} as jax
import {module}.numpy as jnp
x = jnp.arange(1_000_000, dtype=jnp.float32)
f = jax.jit(lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67))
for _ in range(3):
    f(x).block_until_ready()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) / 1024)
""", unit="MiB", quick=True))
