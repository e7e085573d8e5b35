"""One's own primitives: jaxprs, values and errors as JAX 0.4.35 has them."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

from tests import goldens
from tests.control_flow.test_goldens import same

FILES = "own_primitives", "lowering_contexts"


@functools.cache
def scene(name: str) -> dict[str, Any]:
    return goldens.set_scene(goldens.as_tinytrace(goldens.load(name)[0]))


@pytest.mark.parametrize(("name", "case"), [(name, case) for name in FILES for case in goldens.load(name)[1]],
                         ids=lambda x: x if isinstance(x, str) else x.program.splitlines()[-1][:70])
def test_as_jax(name: str, case: goldens.Case) -> None:
    with warnings.catch_warnings(), np.printoptions(legacy="1.25"):
        warnings.simplefilter("ignore")
        answer = goldens.answer(case.program, scene(name))
    if not same(answer, case.answer):
        assert answer == case.answer
