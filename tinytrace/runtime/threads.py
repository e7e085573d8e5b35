"""How many threads a kernel may use."""

from __future__ import annotations

from tinytrace._runtime import lib
from tinytrace.environment import env_int


def set_num_threads(threads: int) -> None:
    """Let kernels use this many threads, the calling one included; 0 means one per available core.

    The results of a program do not depend on it.

    Raises: ValueError if it is negative.
    """
    if threads < 0:
        raise ValueError(f"a number of threads must not be negative, got {threads}")
    lib.tt_set_threads(threads)


def num_threads() -> int:
    """How many threads a kernel may use, the calling one included.

    >>> num_threads() >= 1
    True
    """
    return int(lib.tt_threads())


set_num_threads(env_int("TINYTRACE_NUM_THREADS", 0))
