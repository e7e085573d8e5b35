"""Control flow, custom rules, checkpoint and callbacks: jaxprs, values and errors as JAX 0.4.35 has them."""
from __future__ import annotations

import functools
import re
import warnings
from typing import Any

import numpy as np
import pytest

from tests import goldens

FILES = ["control_flow", "custom_rules", "compositions", "custom_batching", "custom_transpose"]
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")


@functools.cache
def scene(name: str) -> dict[str, Any]:
    return goldens.set_scene(goldens.as_tinytrace(goldens.load(name)[0]))


def same(got: str, want: str) -> bool:
    """Texts are equal to the letter; floats in values may differ in the last digits that JAX prints."""
    if got == want or want.startswith(("{ lambda", "!", "let")):
        return got == want
    layout = [re.sub(r"\s+", "", NUMBER.sub("#", text)) for text in (got, want)]
    numbers = [np.array([float(x) for x in NUMBER.findall(text)]) for text in (got, want)]
    return layout[0] == layout[1] and np.allclose(*numbers, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "case"), [pytest.param(name, case, id=f"{name}-{case.program.splitlines()[-1][:70]}")
                                            for name in FILES for case in goldens.load(name)[1]])
def test_as_jax(name: str, case: goldens.Case) -> None:
    with warnings.catch_warnings(), np.printoptions(legacy="1.25"):
        warnings.simplefilter("ignore")
        got = goldens.answer(case.program, scene(name))
    if not same(got, case.answer):
        assert got == case.answer
