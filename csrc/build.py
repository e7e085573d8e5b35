"""Describes the extension module `tinytrace._runtime` to setuptools: SOURCES behind the interface of tt_runtime.h.

The texts that embedded.txt lists, which generated programs paste (tt_host.h and math/*.h) or exported programs come
with (standalone.c and what it includes), are strings in the module, so an installed tinytrace needs no data files and
the code generator opens none.
"""

from pathlib import Path

from cffi import FFI

CSRC = Path(__file__).parent
SOURCES = ["alloc.c", "blas.c", "call.c", "fft.c", "fma.c", "lapack.c", "members.c", "narrow.c", "openblas.c", "pool.c",
           "select.c", "sort.c", "top_k.c", "vectors.c"]
MATH = sorted((CSRC / "math").glob("*.h"))
EMBEDDED = [path for line in (CSRC / "embedded.txt").read_text().split() for path in sorted(CSRC.glob(line))]
READ = [CSRC / "tt_runtime.h", *EMBEDDED, CSRC / "embedded.txt", CSRC / "build.py"]
COMPILE_FLAGS = ["-std=gnu11", "-O2", "-fno-strict-aliasing", "-fvisibility=hidden", "-Wall", "-Wextra"]

CALLBACK = """
extern "Python" int32_t tt_python_callback(int64_t id, uintptr_t *buffers);
extern "Python" int32_t tt_python_factorization(const int64_t *words);
"""

PREAMBLE = """
#include "tt_runtime.h"

static const char *const source_names[] = {%(names)s};
static const char *const source_texts[] = {%(texts)s};
int32_t tt_source_count(void) { return %(count)d; }
const char *tt_source_name(int32_t index) { return source_names[index]; }
const char *tt_source_text(int32_t index) { return source_texts[index]; }
"""


def interface() -> str:
    """The declarations of tt_runtime.h without its preprocessor lines, which cffi does not read."""
    lines = (CSRC / "tt_runtime.h").read_text().splitlines(keepends=True)
    return CALLBACK + "".join(line for line in lines if not line.startswith("#"))


def literal(text: str) -> str:
    """A C string literal, one source line per line of text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("??", "?\\?")
    return "\n".join(f'    "{line}\\n"' for line in escaped.splitlines()) or '""'


def preamble() -> str:
    return PREAMBLE % {
        "names": ", ".join(f'"{path.relative_to(CSRC).as_posix()}"' for path in EMBEDDED),
        "texts": ",\n".join("\n" + literal(path.read_text()) for path in EMBEDDED),
        "count": len(EMBEDDED),
    }


if not MATH:  # programs would lack sin and exp, which nobody would notice before they are loaded
    raise FileNotFoundError(f"{CSRC / 'math'} has no headers: this copy of tinytrace's sources is not complete")

ffi = FFI()
ffi.cdef(interface())
ffi.set_source(
    "tinytrace._runtime",
    preamble(),
    sources=[f"csrc/{name}" for name in SOURCES],
    depends=[path.relative_to(CSRC.parent).as_posix() for path in READ],  # a change of one makes the module again
    include_dirs=["csrc"],
    extra_compile_args=COMPILE_FLAGS,
    libraries=["dl", "m", "pthread"],
)
