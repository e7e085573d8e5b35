"""Tracers that outlive their trace, for programs against JAX's insides."""

import numpy as np

import tinytrace as jax
from tinytrace import core


def test_who_holds_a_tracer_is_said_in_the_words_of_the_leak_checker():
    held = []
    jax.vmap(lambda a: held.append(a) or a)(np.float32([1, 2]))
    found = core.maybe_find_leaked_tracers(held[0]._trace.main)
    assert [x is held[0] for x in found] == [True]
    text = str(core.leaked_tracer_error("trace", "MainTrace(1,BatchTrace)", found))
    assert text.startswith("Leaked trace MainTrace(1,BatchTrace). Leaked tracer(s):\n\nTraced<ShapedArray(float32[])>")
    assert f"is referred to by <list {id(held)}>[0]" in text
    main = held.pop()._trace.main
    del found
    assert core.maybe_find_leaked_tracers(main) == []
