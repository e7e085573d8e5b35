"""Whole processes: import and first call with a warm disk cache, and peak memory."""
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
