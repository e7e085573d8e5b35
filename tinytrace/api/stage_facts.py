"""What JAX asks of compiled programs besides their results: what they cost, and how much memory they take."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tinytrace.core.avals import ShapedArray
from tinytrace.records import NamedTuple

if TYPE_CHECKING:
    from tinytrace.codegen.generate import Generated
    from tinytrace.codegen.program import Kernels


class MemoryStats(NamedTuple):
    """Bytes that a program takes; those of its code are the size of its file. `alias`: of results in donated arguments.
    """

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    alias_size_in_bytes: int
    generated_code_size_in_bytes: int


def cost_of(kernels: Kernels) -> dict[str, float]:
    """Return the operations on floats, and the bytes that are read and written, as the kernels themselves say.

    >>> jit(lambda x: 2 * x).lower(jnp.ones(4)).cost_analysis()
    {'flops': 4.0, 'bytes accessed': 32.0}
    """
    return {"flops": float(sum(kernel.flops for kernel in kernels)),
            "bytes accessed": float(sum(kernel.bytes_read + kernel.bytes_written for kernel in kernels))}


def memory_of(generated: Generated, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], code: int
              ) -> MemoryStats:
    """Return what a program with so many bytes of machine code takes.

    >>> jit(lambda x: 2 * x, donate_argnums=0).lower(jnp.ones(4)).compile().memory_analysis().alias_size_in_bytes
    16
    """
    kernels = generated.kernels
    return MemoryStats(sum(aval.nbytes for aval in in_avals), sum(aval.nbytes for aval in out_avals),
                       kernels.memory().nbytes, sum(kernels.outputs[k].nbytes for k in generated.reused), code)


def refuse_dialect(dialect: Any) -> NoReturn:
    """Raise ValueError, in JAX's words, for a language that programs do not become; one that JAX has is told apart."""
    instead = ". Programs become C here: there are 'c' and 'jaxpr'." if dialect in OF_XLA else ""
    raise ValueError(f"unknown dialect: {dialect}{instead}")


OF_XLA = ("stablehlo", "hlo")
