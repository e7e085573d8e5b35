"""`CSource`: the C text of one program and what a caller must know to run it."""

from __future__ import annotations

from collections.abc import Collection

from tinytrace.core.avals import ShapedArray
from tinytrace.core.notebook import forms_of, html_of
from tinytrace.records import NamedTuple


class CSource(NamedTuple):
    """One translation unit with one entry, whose C type csrc/tt_host.h states.

    Args:
      text: the C source; equal text means an equal program.
      symbol: the name of the entry in it.
      inputs: avals of the input buffers, in order.
      outputs: avals of the output buffers, which follow the inputs.
      workspace: bytes of the scratch buffer that follows the outputs; 0 when there is none.
      quick: how little effort the compiler makes (`effort.py`): a loop of very many steps gains nothing from more.
      parts: is the text in two parts, which two compilers may take at the same time?
      names: the arrays, functions and entries of the host that the program's own lines mention.
      preamble: characters before the program's own functions: the host's interface, and the math that they call.
    """

    text: str
    symbol: str
    inputs: tuple[ShapedArray, ...]
    outputs: tuple[ShapedArray, ...]
    workspace: int = 0
    quick: int = 0
    parts: bool = False
    preamble: int = 0
    names: frozenset[str] = frozenset()

    @property
    def needs_blas(self) -> bool:
        """Does the program ask its host for products of matrices, or for their factorizations?"""
        return not self.names.isdisjoint(_OF_BLAS)

    @property
    def needs_lapack(self) -> bool:
        """Does the program ask its host for factorizations of matrices?"""
        return not self.names.isdisjoint(_OF_LAPACK)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (f"<C of {self.symbol}: {len(self.inputs)} inputs, {len(self.outputs)} outputs, "
                f"{self.text.count(chr(10), self.preamble)} lines of its own>")

    def _repr_html_(self) -> str:
        return html_of(self)

    def _repr_mimebundle_(self, include: Collection[str] | None = None,
                          exclude: Collection[str] | None = None) -> dict[str, str]:
        return forms_of(self, include, exclude)


_OF_LAPACK = frozenset({"potrf", "trsm", "getrf", "geqrf", "syevd", "gesdd", "geev", "gees", "gehrd", "orgqr", "sytrd"})
_OF_BLAS = _OF_LAPACK | {
    name + then for name in ("sgemm", "dgemm", "sbgemm", "shgemm") for then in ("", "_then")} | {
    "sgemm_taps", "dgemm_taps"}
"""Entries of the host."""
