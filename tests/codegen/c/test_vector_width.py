"""The hot loop of a kernel has vectors as wide as those of a plain loop, for each of six processors: read in assembly.

How wide these are is told by the flags (`runtime/flags.py`), but for functions that say that they are narrow; nothing
else that we write may make it another one, least of all none. Nothing is run, so any processor may be asked about.
"""

import re
import shutil
import subprocess

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_goldens import f32, i32, selu, softmax
from tests.codegen.test_programs import generated
from tinytrace.codegen.c.vector_width import DEFINITION, NARROW
from tinytrace.csources import OFTEN
from tinytrace.runtime.flags import own_flags, tuned

TARGETS = {
    "x86-64-v2": (128, ["-march=x86-64-v2"]), "haswell": (256, ["-march=haswell"]), "znver3": (256, ["-march=znver3"]),
    "znver4": (512, ["-march=znver3", *(f"-mavx512{part}" for part in ("f", "vl", "bw", "dq", "cd"))]),  # for gcc 12
    "skylake-avx512": (512, tuned(("-march=skylake-avx512", "-mavx512vl"), "x86_64 GenuineIntel 6 85", 0)),
    "sapphirerapids": (512, tuned(("-march=sapphirerapids", "-mavx512vl"), "x86_64 GenuineIntel 6 143", 0)),
}  # fmt: skip
NARROWEST = {"skylake-avx512": 256, "sapphirerapids": 256}
PLAIN = "void plain(const {0} *a, {0} *restrict b, long n) {{ for (long i = 0; i < n; i++) b[i] = a[i] * a[i] + 1; }}"
REGISTERS = {"x": 128, "y": 256, "z": 512}
ARITHMETIC = re.compile(r"\bv?(?:add|sub|mul|div|max|min|fn?m(?:add|sub)\d*|sqrt)p[sd]\b.*%([xyz])mm")
ARM = re.compile(r"\bf(?:add|sub|mul|div|mla|mls)\b.*\.(?:4s|2d)")


def six_sines(x):
    return sum(jnp.sin(k * x).sum() for k in range(1, OFTEN + 1))


def f64(*shape):
    return jax.ShapeDtypeStruct(shape, np.float64)


KERNELS = {
    "chain with exp": (selu, f32(100000)),
    "sum": (lambda x: x.sum(), f32(1000000)),
    "softmax": (softmax, f32(512, 1024)),
    "small product": (jnp.matmul, f32(24, 24), f32(24, 24)),
    "gradient of six sines": (jax.grad(six_sines), f32(100000)),
    "gather": (lambda table, index: table[index] * 2, f32(1000, 64), i32(100)),
    "one operation": (lambda x: x + 1, f32(1000000)),
    "six sines in double": (six_sines, f64(100000)),
    "choices of double": (lambda m, x: jnp.where(m, x + 1, x), jax.ShapeDtypeStruct((1000000,), bool), f64(1000000)),
}


def hot_loop(assembly, pattern):
    """What the innermost loop with most arithmetic on vectors matches."""
    lines = assembly.splitlines()
    labels = {line[:-1]: k for k, line in enumerate(lines) if re.fullmatch(r"\.L\w+:", line)}
    jumps = [(labels.get(found[1], k), k) for k, line in enumerate(lines)
             if (found := re.match(r"\s+(?:j\w+|b\.?\w*|cbn?z\s+\w+,|tbn?z .*,)\s+(\.L\w+)$", line))]
    loops = [(begin, end) for begin, end in jumps if begin < end]
    inner = [(b, e) for b, e in loops if not any((b, e) != (c, d) and b <= c and d <= e for c, d in loops)]
    matches = [[found for line in lines[b:e] if (found := pattern.search(line))] for b, e in inner]
    return max(matches, key=len, default=[])


def assembled(command, flags, text):
    identity = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    argv = [command, *own_flags(f"{identity}, x86_64"), *flags, "-S", "-x", "c", "-", "-o", "-"]
    return subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout


def width(assembly):
    return max((REGISTERS[found[1]] for found in hot_loop(assembly, ARITHMETIC)), default=0)


def is_narrow(kernel):
    """Are the functions of a kernel narrow? Then its text says what that is, once."""
    text = generated(*KERNELS[kernel]).source.text
    assert text.count(DEFINITION) == (f"\n{NARROW}\nstatic void" in text)
    return DEFINITION in text


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_hot_loops_are_as_wide_as_plain_ones(target):
    command = shutil.which("gcc")
    if command is None or "clang" in subprocess.run([command, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("there is no gcc to ask")
    least, flags = TARGETS[target]
    plain = {kind: width(assembled(command, flags, PLAIN.format(kind))) for kind in ("float", "double")}
    assert min(plain.values()) >= least
    with jax.enable_x64(True):
        texts = {name: generated(*program).source.text for name, program in KERNELS.items()}
        narrow = set(filter(is_narrow, KERNELS))
    found = {name: width(assembled(command, flags, text)) for name, text in texts.items()}
    expected = {name: plain["double" if "double" in name else "float"] for name in KERNELS}
    assert found == expected | {name: NARROWEST.get(target, expected[name]) for name in narrow}
    assert "one operation" in narrow
    assert narrow.isdisjoint({"chain with exp", "sum", "softmax", "gradient of six sines", "six sines in double",
                              "choices of double"})


@pytest.mark.slow
def test_functions_of_csrc_are_inlined_however_long_the_entry_is():
    """One that is called has no vectors, nor has its loop."""
    command = shutil.which("gcc")
    if command is None or "clang" in subprocess.run([command, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("there is no gcc to ask")
    x = jax.ShapeDtypeStruct((1000,), np.float16)
    text = generated(jax.scipy.special.hyp1f1, x, x, x).source.text
    assert "tt_rem_f32(" in text
    assert not re.findall(r"\bcall\s+tt_(?!kernel_)\w+", assembled(command, ["-march=x86-64-v3"], text))


@pytest.mark.slow
def test_hot_loops_on_arm():
    command = shutil.which("aarch64-linux-gnu-gcc")
    if command is None:
        pytest.skip("there is no cross compiler for Arm")
    for name, program in KERNELS.items():
        if "double" not in name:
            assert hot_loop(assembled(command, [], generated(*program).source.text), ARM), name


def turns(x, y):
    return jax.lax.fori_loop(0, 100, lambda _, z: jnp.where(z < 4, z * z + y, z), x)


COMPUTING = {
    "a long function": (jnp.exp, f32(100000)),
    "an array that is read in every turn of a loop": (turns, f32(100000), f32(100000)),
    "a function, then a maximum": (lambda x: jnp.exp(x).max(1), f32(1000, 1000)),
    "a maximum": (lambda x: x.max(1), f32(1000, 1000)),
    "results past the caches": (lambda x, y: jnp.sin(x) * jnp.cos(y), f32(10_000_000), f32(10_000_000)),
    "distances, whose terms are added in order": (lambda x, y: ((x[:, None] - y) ** 2).sum(2).argmin(1),
                                                  f32(20000, 16), f32(64, 16)),
    "a sum of what was computed, whose terms are added lane by lane": (lambda x: jnp.exp(x).sum(), f32(1000000)),
    "a sum of what is read, whose terms are added lane by lane": (lambda x: x.sum(), f32(1000000)),
    "short rows that are whole vectors": (lambda x: jnp.exp(x[:, 1:33]), f32(10000, 60)),
    "a running sum": (lambda x: jnp.cumsum(jnp.exp(x)), f32(1 << 20)),
}
MOVING = {
    "one operation": (lambda x: x + 1, f32(1000000)),
    "copies": (lambda x, y: jnp.concatenate([x, y]), f32(1000000), f32(1000000)),
    "short rows": (lambda x: jnp.exp(x[:, 1:57]), f32(10000, 60)),
    "a transposition in tiles": (lambda x: x.T, jax.ShapeDtypeStruct((1024, 1000), np.float32)),
}


@pytest.mark.parametrize("case", COMPUTING)
def test_functions_that_compute_or_add_are_as_wide_as_the_flags_say(case):
    assert NARROW not in generated(*COMPUTING[case]).source.text


@pytest.mark.parametrize("case", MOVING)
def test_functions_that_move_or_have_short_loops_are_narrow(case):
    assert f"\n{NARROW}\nstatic" in generated(*MOVING[case]).source.text
