"""`tinytrace doctor`: what this machine has, what is missing and how to get it, and whether programs run right."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import numpy as np

import tinytrace
from tinytrace.api.jit import jit
from tinytrace.cli.answers import FINE, NOT_FINE, Answer, emphasized
from tinytrace.config import config
from tinytrace.numpy import exp, tanh
from tinytrace.pure import PURE
from tinytrace.records import NamedTuple
from tinytrace.runtime.blas import blas_path
from tinytrace.runtime.compiler import Compiler, which
from tinytrace.runtime.disassembly import DISASSEMBLER
from tinytrace.runtime.discovery import current_compiler, current_store, shared_store
from tinytrace.runtime.failures import CompileError, Step
from tinytrace.runtime.inventory import Inventory
from tinytrace.runtime.ladder import stats
from tinytrace.runtime.process import idle
from tinytrace.runtime.threads import num_threads

NEEDED = ("numpy", "ml_dtypes", "cffi", "scipy-openblas32")
OPTIONAL = {"cloudpickle": "pickles functions without names", "distributed": "runs functions on many machines",
            "ipython": "shows values in notebooks"}


class Check(NamedTuple):
    """One line of the report: `state` is `ok`, `missing` or `optional`; `remedy` says what to do unless it is `ok`."""

    name: str
    state: str
    found: str
    remedy: str = ""


def run(options: Any) -> Answer:
    """Report on this machine; status 1 if something is missing that programs need."""
    steps: list[Step] = []
    checks = [Check("tinytrace", "ok", f"{tinytrace.__version__}, Python {platform.python_version()}, "
                    f"{platform.system()} {platform.machine()}")]
    checks.append(Check("C extensions", "ok", "they are used") if not PURE else
                  Check("C extensions", "missing", "off or missing: every program is interpreted",
                        "unset TINYTRACE_PURE, or install tinytrace where there is a C compiler"))
    compiler = _compiler(checks, steps)
    checks += [*_processor(compiler), *_stores(steps), *_packages(), _blas(), _disassembler(), _self_test(compiler)]
    is_fine = all(check.state != "missing" for check in checks)
    width = max(len(check.name) for check in checks)
    lines = [line for check in checks for line in _lines(check, width)]
    lines.append("All is well." if is_fine else "Something is missing.")
    return Answer([check._asdict() for check in checks], "\n".join(lines), FINE if is_fine else NOT_FINE)


def _lines(check: Check, width: int) -> Iterator[str]:
    color = {"ok": "32", "missing": "31", "optional": "33"}[check.state]
    yield f"{emphasized(f'{check.state:8}', color)}  {check.name:{width}}  {check.found}"
    if check.remedy:
        yield f"{'':10}{'':{width}}  -> {check.remedy}"


def _compiler(checks: list[Check], steps: list[Step]) -> Compiler | None:
    try:
        compiler = current_compiler(current_store(steps), steps, idle)
    except CompileError as error:
        checks.append(Check("compiler", "missing", error.reason, error.remedy))
        return None
    checks.append(Check("compiler", "ok", f"{compiler.identity}, at {' '.join(compiler.command)}"))
    return compiler


def _processor(compiler: Compiler | None) -> list[Check]:
    kind = " ".join(compiler.cpu.split()[:4]) if compiler else platform.processor() or platform.machine()
    found = [Check("processor", "ok", f"{kind}, {os.cpu_count()} cores"), Check("threads", "ok", f"{num_threads()}")]
    bits = vector_bits(compiler.target) if compiler else 0
    return [*found, Check("vectors", "ok", f"{bits} bits: {bits // 32} float32 at a time")] if bits else found


def vector_bits(target: tuple[str, ...]) -> int:
    """Return how wide the vectors are that a compiler may use, by its flags for this processor; 0 if they do not tell.

    >>> vector_bits(("-march=znver3", "-mavx2", "-mno-avx512f")), vector_bits(("-target-feature", "+avx512f"))
    (256, 512)
    """
    features = {flag.removeprefix("-m").removeprefix("+") for flag in target}
    widths = (("avx512f", 512), ("avx2", 256), ("avx", 256), ("sse2", 128), ("neon", 128), ("simd", 128))
    return next((bits for name, bits in widths if name in features), 128 if platform.machine() == "aarch64" else 0)


def _stores(steps: list[Step]) -> list[Check]:
    store = current_store(steps)
    checks = []
    if store is None:
        checks.append(Check("store", "missing", steps[-1].reason, steps[-1].remedy))
    else:
        sizes = [entry.size for entry in Inventory(store).entries()]
        checks.append(Check("store", "ok", f"{store.root}: {len(sizes)} entries, {sum(sizes) / 2**20:.1f} MiB of "
                            f"machine code, at most {config.cache_mib} MiB"))
    shared = shared_store(steps)
    if shared is not None:
        checks.append(Check("shared store", "ok", shared.root))
    return checks


def _packages() -> Iterator[Check]:
    versions = {name: _version(name) for name in (*NEEDED, *OPTIONAL)}
    for name in NEEDED:
        found = versions[name]
        yield Check(name, "ok", found) if found else Check(name, "missing", "not installed", f"pip install {name}")
    for name, use in OPTIONAL.items():
        found = versions[name]
        yield Check(name, "ok", found) if found else Check(name, "optional", f"not installed: {use}",
                                                           f"pip install {name}")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _blas() -> Check:
    if path := blas_path():
        return Check("BLAS", "ok", path)
    return Check("BLAS", "missing", "matrix products run in plain C loops, and NumPy factors matrices",
                 "pip install scipy-openblas32")


def _disassembler() -> Check:
    path = which(DISASSEMBLER)
    return Check(DISASSEMBLER, "ok", path) if path else Check(
        DISASSEMBLER, "optional", "not found: `tinytrace asm` and the explorer show machine code with it",
        "install binutils")


def _self_test(compiler: Compiler | None) -> Check:
    """Compile a program with vectors, a sum and a matrix product, and compare with NumPy."""
    x = np.linspace(-2, 2, 64, dtype=np.float32).reshape(8, 8)
    before = (stats.compiles, stats.disk_hits)

    def program(x: Any) -> Any:
        return (tanh(x) @ exp(x)).sum(1)

    try:
        got = np.asarray(jit(program)(x))
    except Exception as error:  # whatever it is, it is what the user came to see
        return Check("self-test", "missing", f"{type(error).__name__}: {error}", "report it, with this report")
    exact = (np.tanh(x.astype(np.float64)) @ np.exp(x.astype(np.float64))).sum(1)
    wrong = float(np.max(np.abs(got - exact) / np.abs(exact)))
    if not wrong < 1e-4:
        return Check("self-test", "missing", f"a result is wrong by {wrong:.1e}", "report it, with this report")
    how = "interpreted" if compiler is None or PURE else "compiled" if stats.compiles > before[0] else \
        "found on disk" if stats.disk_hits > before[1] else "found in memory"
    return Check("self-test", "ok", f"a program was {how} and agrees with NumPy")


