"""Results take the places of arguments that the caller gives up: programs with donated inputs change them in place.

    b[i] = f(a[i])    is    a[i] = f(a[i])

An argument may be overwritten where nobody reads an element of it after it was overwritten: the condition is that of
carries of loops (`in_place`). What copied the argument is dropped, so an update of one element costs one element.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.merging import merge_places
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.codegen.passes.in_place import copies, may_share
from tinytrace.records import replace


def reuse_donated(kernels: Sequence[Kernel], inputs: Sequence[Buffer], outputs: Sequence[Buffer],
                  donated: Iterable[int]) -> tuple[list[Kernel], list[Buffer], dict[int, int]]:
    """Return a program that computes results in the places of donated inputs, as far as it can.

    Args:
      donated: the numbers of the inputs that may be overwritten.

    Returns:
      the kernels, the outputs, and for each output that is in the place of an input the number of that input: both must
      be given as one array.
    """
    result, places, reused = list(kernels), list(outputs), dict[int, int]()
    free = sorted(set(donated))
    for k, new in enumerate(outputs):
        for position in free:
            old = inputs[position]
            if old.shape == new.shape and may_share(result, old, new):
                result = [kernel for kernel in result if not copies(kernel, old, new)]
                places[k], reused[k] = replace(new, given=True), position
                result = merge_places(result, {old: places[k], new: places[k]})
                free.remove(position)
                break
    return result, places, reused
