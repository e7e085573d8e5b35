"""The flags of C compilers: what shapes a compiled program, for gcc and for clang.

Which faults of a compiler are avoided by flags, and in which versions, is told by `codegen/c/quirks.py`.
"""

from __future__ import annotations

import functools
import re
import sys

from tinytrace.codegen.c.quirks import QUIRKS, switches
from tinytrace.runtime.failures import READ_IT

# -O2: at -O3 a program of 100 operations takes half as long again to compile, and runs as fast.
# Never -ffast-math: NaN, infinities and -0 are exact here, and linking it sets flush-to-zero for the whole thread.
# -ffp-contract=off: what is fused is written as a fused operation (passes/multiply_add.py), for the vectors of a loop
# and its remainder must round alike.
COMMON = ("-std=gnu11", "-O2", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math",
          "-ffp-contract=off", "-fopenmp-simd", "-fPIC")  # fmt: skip

# By family. Both make vectors of all loops that pay, by the cost model that gcc has at -O3. Functions that are declared
# inline are inlined however long they are (to gcc a fused operation is a call): a loop with a call in it has no
# vectors. What is computed before a choice stays there (gcc would sink it into the branches of the choice): then one of
# two values is chosen, where a jump is guessed wrong every other time, and a loop with such a jump has no vectors.
# Partial redundancies stay (gcc would carry what the last iteration found of a neighbour to the next, and write a
# choice of what was chosen twice, behind each side of the first, which is a jump): a loop that waits for its last
# iteration has no vectors either, and takes 11 to 20 times as long.
# Loops begin where 32 bytes do: one of ten instructions that lies across two such places takes 1.3 times as long.
# clang warns of pragmas that are gcc's alone, and of vectors that a loop asked for and does not get.
OWN = {
    "gcc": ("-ftree-loop-vectorize", "-fvect-cost-model=dynamic", "-fno-tree-sink", "-fno-tree-pre",
            "-falign-loops=32", "--param=max-inline-insns-single=2000", "--param=large-function-insns=50000",
            "--param=large-unit-insns=50000"),
    "clang": ("-mllvm", "-inlinehint-threshold=4000", "-Wno-unknown-pragmas", "-Wno-pass-failed"),
}

# By `quick`; what vectorises is named above, and without the expensive ones a loop of 20 operations takes 1.4 times as
# long as with -O2, with them 1.06 times.
QUICK: dict[str, tuple[str, ...]] = {"gcc": ("-O1", "-fexpensive-optimizations"), "clang": ()}
# By `jax_disable_most_optimizations`: a third to a half of the time of -O2, and code that runs a tenth as fast. The
# bits are the same but for those of sums, which have lanes where there are vectors.
LEAST = ("-O0",)

# libc and libm are in the process that loads the object; not so the compiler's helpers, such as complex division. macOS
# must be told that symbols may be found later; there the helpers are in libSystem.
LINK = ("-shared", "-nostdlib") + (("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ())
SUPPORT = ("-lgcc",) if sys.platform == "linux" else ()
NATIVE = ("-march=native",)

# For a CPU with AVX-512 that gcc has no costs for, those of the newest of its maker; see `tuned`.
NEWEST = {"AuthenticAMD": "-mtune=znver3", "GenuineIntel": "-mtune=icelake-server"}

# For CPUs with AVX-512 (VL: all but Xeon Phi). gcc would give Intel's 256 bits, for wide vectors lower the clock. From
# Ice Lake on hardly; on a Cascade Lake math functions take 0.55 to 0.7 of the time nevertheless, and only roots and
# quotients 1.15. Copies too, for what is stored in halves cannot be loaded whole before it is in the cache.
WIDE_WHERE = "-mavx512vl"
WIDE = ("-mprefer-vector-width=512",)
WIDE_COPIES = ("-mmove-max=512", "-mstore-max=512")
COPIES_SINCE = 12
"""The first gcc that can be told how wide copies are."""

EVERY = (*COMMON, *(flag for flags in OWN.values() for flag in flags), *NEWEST.values(), WIDE_WHERE, *WIDE,
         *WIDE_COPIES, *(flag for quirk in QUIRKS for flag in quirk.flags))  # fmt: skip
"""All that may be among a compiler's flags: a change of these makes another compiler of it."""

LACKS = {
    "-fvect-cost-model": "set CC to gcc or clang, whose flags tinytrace knows",
}
"""What a compiler may complain of, and what to do then."""


def family(identity: str) -> tuple[str, int]:
    """Return what a compiler is, gcc or clang, and its major version (0 if it is not told), out of what it says.

    >>> family("gcc (Debian 12.2.0-14+deb12u1) 12.2.0, x86_64-linux-gnu")
    ('gcc', 12)
    >>> family("Apple clang version 15.0.0 (clang-1500.3.9.4), arm64-apple-darwin23.4.0")
    ('clang', 15)
    """
    version = identity.partition(", ")[0]
    if "clang" in version:
        found = re.search(r"version (\d+)", version)
        return "clang", int(found[1]) if found else 0
    numbers = re.findall(r"(?<![\w.])(\d+)\.\d+(?:\.\d+)?(?![\w.-])", version)
    return "gcc", int(numbers[-1]) if numbers else 0


@functools.cache
def own_flags(identity: str) -> tuple[str, ...]:
    """Return the flags for a compiler that calls itself `identity`; those of gcc for one that is not known."""
    kind, version = family(identity)
    return (*COMMON, *OWN[kind], *switches(kind, version, identity.rpartition(", ")[2]))


def quick_flags(identity: str, quick: int) -> tuple[str, ...]:
    """Return the flags of a program that is wanted soon: 1 for less effort, 2 for the least (`codegen/effort.py`).

    >>> quick_flags("gcc 12.2.0, x86_64-linux-gnu", 2)
    ('-O0',)
    """
    return ((), QUICK[family(identity)[0]], LEAST)[quick]


def tuned(argv: tuple[str, ...], cpu: str, version: int) -> tuple[str, ...]:
    """Return flags of gcc that tune for the newest CPU it knows where they tune for none, as those of an older gcc do.

    The generic costs are those of the first CPUs with AVX2: with them loops that read tables get no vectors. Vectors
    are as wide as they are fast, see WIDE.

    Args:
      argv: what -march=native stands for, among other words.
      cpu: the processor, see `probe.cpu_kind`.
      version: gcc's major version.

    >>> tuned(("-march=x86-64", "-mavx512f", "-mtune=generic"), "x86_64 AuthenticAMD 26 2", 12)
    ('-march=x86-64', '-mavx512f', '-mtune=znver3')
    >>> tuned(("-march=haswell", "-mtune=haswell"), "x86_64 GenuineIntel 6 63", 12)
    ('-march=haswell', '-mtune=haswell')
    >>> tuned(("-mavx512vl", "-mtune=icelake-server"), "x86_64 GenuineIntel 6 106", 11)
    ('-mavx512vl', '-mtune=icelake-server', '-mprefer-vector-width=512')
    """
    newest = next((flag for maker, flag in NEWEST.items() if maker in cpu), "-mtune=generic")
    wide = (*WIDE, *(WIDE_COPIES if version >= COPIES_SINCE else ())) if WIDE_WHERE in argv else ()
    return (*(newest if word == "-mtune=generic" and "-mavx512f" in argv else word for word in argv), *wide)


def remedy_for(output: str) -> str:
    """Return what to do about a compiler that printed `output`."""
    return next((remedy for word, remedy in LACKS.items() if word in output), READ_IT)
