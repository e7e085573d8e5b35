"""Every float32 through the math functions: the worst result of each, for the table of docs/math.md.

    python -m tests.csrc.exhaustive [FUNCTION ...]      all of them in half an hour on two cores

Writes a function's line into the table when it is done, and ends with status 1
if a result is farther from the truth than the operation's record allows. Two operands, and float64, are sampled.
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import tinytrace as jax
from tinytrace import lax
from tinytrace.config import config
from tinytrace.core.primitive import registry
from tinytrace.runtime.threads import set_num_threads

NAMES = ("exp", "exp2", "expm1", "log", "log1p", "logistic", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
         "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erf_inv", "cbrt", "sqrt", "rsqrt", "pow")


def stated(name):
    """How many units in the last place a float32 and a float64 may be off, as the room of the operation says."""
    bound = registry[name].ulp
    return bound if isinstance(bound, tuple) else (bound, bound)


BOUNDS = {name: stated(name) for name in NAMES}
BINARY = ("pow", "atan2")
REFERENCES = {"rsqrt": "1 / sqrt(x)", "logistic": "logistic(x)", "erf_inv": "erf_inv(x, got)"}

CHUNK = 1 << 16
WORKERS = 2
SAMPLES = 1 << 25
SOURCE = pathlib.Path(__file__).with_name("accuracy.c")
TABLE = pathlib.Path(__file__).parents[2] / "docs" / "math.md"


def main(names):
    set_num_threads(1)  # the chunks are spread over the cores instead
    failed = False
    for name in names or BOUNDS:
        for dtype, bound in zip((np.float32, np.float64), BOUNDS[name], strict=True):
            config.update("enable_x64", dtype == np.float64)
            error, at = worst(name, dtype)
            failed |= error > bound
            cell = f"{error:.3g} at {', '.join(f'{x:.9g}' for x in at)}"
            write_row(name, dtype, f"| {name} | {bound} | {cell} | {nanoseconds(name, dtype):.2f} |")
    sys.exit(failed)


def worst(name, dtype):
    """Return the greatest error in units in the last place, and the operands that have it."""
    chunks = every_float32 if dtype == np.float32 and name not in BINARY else partial(samples, dtype, name)
    measure = checker(name, dtype)
    compiled = jax.jit(getattr(lax, name))

    def part(k):
        with np.errstate(all="ignore"):
            return max(map(one, chunks(k)), key=lambda found: found[0])

    def one(operands):
        error, at = measure(operands, np.asarray(compiled(*operands)))
        return error, tuple(x[at] for x in operands)

    with ThreadPoolExecutor(WORKERS) as pool:
        return max(pool.map(part, range(WORKERS)), key=lambda found: found[0])


def every_float32(k):
    for start in range(k * CHUNK, 2**32, WORKERS * CHUNK):
        yield (np.arange(start, start + CHUNK, dtype=np.uint32).view(np.float32),)


def samples(dtype, name, k):
    """Random bits, numbers in the middle, and numbers near zero, in turn."""
    rng = np.random.default_rng(k)
    word = {np.float32: np.uint32, np.float64: np.uint64}[dtype]
    for turn in range(SAMPLES // CHUNK // WORKERS):
        def operand(size=(None, 30, 1.5)[turn % 3]):
            if size is None:
                return rng.integers(np.iinfo(word).max, size=CHUNK, dtype=word, endpoint=True).view(dtype)
            return rng.uniform(-size, size, CHUNK).astype(dtype)
        yield tuple(operand() for _ in range(1 + (name in BINARY)))


def checker(name, dtype):
    """Compile accuracy.c for one function; return what finds the worst of some results."""
    reference = REFERENCES.get(name, f"{name}(x, y)" if name in BINARY else f"{name}(x)")
    with tempfile.TemporaryDirectory() as folder:
        command = ["gcc", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-shared",
                   "-fPIC", f"-DREFERENCE={reference}", str(SOURCE), "-o", f"{folder}/checker.so"]
        if dtype == np.float64:
            subprocess.run([*command, "-DWIDE", "-lm"], check=True)
        elif subprocess.run([*command, "-DVECTORS", "-lmvec", "-lm"], stderr=subprocess.DEVNULL).returncode:
            subprocess.run([*command, "-lm"], check=True)
        function = ctypes.CDLL(f"{folder}/checker.so").worst
    function.restype = ctypes.c_int64

    def measure(operands, results):
        error = ctypes.c_double()
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (operands[0], operands[-1], results)]
        at = function(*pointers, ctypes.c_int64(results.size), ctypes.byref(error))
        return error.value, at

    return measure


def nanoseconds(name, dtype):
    """Return the time per element in one thread, operands and results in the cache."""
    rng = np.random.default_rng(0)
    operands = [rng.uniform(0.01, 0.99, CHUNK // 4).astype(dtype) for _ in range(1 + (name in BINARY))]
    times = []
    operands = [jax.numpy.asarray(x) for x in operands]
    compiled = jax.jit(getattr(lax, name))
    for _ in range(2000):
        start = time.perf_counter()
        compiled(*operands)
        times.append(time.perf_counter() - start)
    return 1e9 * min(times) / operands[0].size


def write_row(name, dtype, row):
    """Put a function's line in the place of its old one, under the heading of its type."""
    print(np.dtype(dtype).name, row, flush=True)
    lines = TABLE.read_text().splitlines()
    heading = lines.index(f"## {np.dtype(dtype).name}")
    old = next((k for k in range(heading, len(lines)) if lines[k].startswith(f"| {name} |")), None)
    if old is None:
        raise LookupError(f"{TABLE} has no line for {name} under {lines[heading]!r}")
    lines[old] = row
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
