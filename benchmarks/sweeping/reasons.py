"""Why a case is above 2 of the best rival, or above 1.2 of JAX: what the rival does that is something else, or what
limits us. The table of the sweep prints them beside the cases; none is left out for having a reason."""
from __future__ import annotations

import fnmatch

VIEW = "jitted: from 1 MiB on elements that are reordered are copied, as JAX's are; NumPy shows its argument"
REASONS = {
    "numpy.empty": "NumPy leaves the memory as it is; here, as in JAX, it is zeros",
    "numpy.empty_like": "NumPy leaves the memory as it is; here, as in JAX, it is zeros",
    "numpy.asarray": "hands its argument back: a call of Python, in NumPy of C",
    "numpy.array": "a copy of 4 KB: three calls of Python around it",
    "lax.broadcast": "NumPy's function of this name makes an iterator and no array",
    "random.*": "the samples are JAX's to the bit, a hash for each; NumPy's generator counts on",
    "numpy.flip*": VIEW,
    "numpy.moveaxis": VIEW,
    "*.matrix_transpose": VIEW,
    "numpy.partition": "both sides are sorted, as JAX's are; NumPy's are not",
    "numpy.argpartition": "both sides are sorted, as JAX's are; NumPy's are not",
    "numpy.unstack": "an Array is made for each row",
    "*.trace": "the loop over the whole matrix is compiled; NumPy adds what a strided view shows",
    "*.tan": "in double precision, within 1.5 ulp; NumPy's is within 3.4",
    "*.cbrt": "in double precision, within 0.5 ulp; NumPy's is within 1.9",
    "*.asinh": "in double precision, within 0.5 ulp; NumPy's is within 1",
    "numpy.arcsinh": "in double precision, within 0.5 ulp; NumPy's is within 1",
    "*.pow": "in double precision, within 0.5 ulp; NumPy's is within 1",
    "numpy.power": "in double precision, within 0.5 ulp; NumPy's is within 1",
}
"""By the name of the function, in which `*` stands for anything."""


def reason_of(module: str, name: str) -> str:
    """Return what is known of a function that misses, "" if nothing is.

    >>> reason_of("numpy", "unstack")
    'an Array is made for each row'
    """
    full = f"{module}.{name}"
    return next((reason for pattern, reason in REASONS.items() if fnmatch.fnmatchcase(full, pattern)), "")
