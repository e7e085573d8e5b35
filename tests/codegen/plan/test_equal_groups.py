"""Groups that are equal but for their values: one is planned for all of them, and nobody can tell."""
import pytest
from hypothesis import given, settings

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.c.test_equal_kernels import layers
from tests.codegen.test_programs import simplified
from tinytrace.codegen import planner
from tinytrace.codegen.generate import generate
from tinytrace.codegen.ir.kernel import Renamed
from tinytrace.codegen.plan.equal_groups import MANY
from tinytrace.testing.strategies import programs_with_arguments


def generated(many, function, *args):
    """What a program becomes when equal groups are looked for from so many groups on."""
    before = planner.MANY
    planner.MANY = many
    try:
        return generate(simplified(function, *args))
    finally:
        planner.MANY = before


def copies(found):
    return sum(isinstance(getattr(kernel, "body", None), Renamed) for kernel in found.kernels)


def repeated(function, args):
    """The program that computes `function` of arguments, of its results, and of other arguments; and all of these."""
    def program(args, others):
        found = jax.tree.leaves(function(*args))
        again = [x if x.shape == jnp.shape(old) and x.dtype == old.dtype else old
                 for x, old in zip([*found, *args], args, strict=False)]
        return found, function(*again), function(*others)

    return program, args, args


@settings(deadline=None)
@given(programs_with_arguments(max_steps=6))
def test_c_is_that_of_groups_planned_one_by_one(case):
    program, args = case
    again = repeated(program.function(), args)
    together, apart = generated(1, *again), generated(1 << 20, *again)
    assert together.source.text == apart.source.text
    for line, other in zip(together.lines.lines, apart.lines.lines, strict=True):
        # An expression of numbers alone is one object in all groups, and belongs to all that have planned it.
        assert bool(line.eqns) == bool(other.eqns) == bool(line.eqns & other.eqns)
    assert [str(kernel) for kernel in together.kernels] == [str(kernel) for kernel in apart.kernels]


def test_deeper_networks_are_planned_with_few_groups_more(monkeypatch):
    planned = []
    plan = planner.Planner._of_loops
    monkeypatch.setattr(planner.Planner, "_of_loops", lambda self, group: planned.append(group) or plan(self, group))
    counts = []
    for depth in (10, 20):
        planned.clear()
        function, args = layers(depth, size=16)
        generate(simplified(function, *args))
        counts.append(len(planned))
    assert counts[0] == counts[1] > 0


def test_statements_of_copies_are_not_made():
    function, args = layers(20, size=16)
    found = generate(simplified(function, *args))
    bodies = [kernel.body for kernel in found.kernels if isinstance(kernel.body, Renamed)]
    assert len(bodies) > MANY
    assert not any("statements" in body.__dict__ for body in bodies)


@pytest.mark.parametrize("other", [lambda x: jnp.sin(x[::-1]), lambda x: jnp.sin(x.astype(jnp.float16)),
                                   lambda x: jnp.sin(x[:3]), lambda x: jnp.sin(x) * 2])
def test_other_groups_are_no_copies(other):
    def program(x, y, z):
        return jnp.sin(x), other(y), jnp.sin(z)

    found = generated(1, program, *[jnp.arange(4.0) + k for k in range(3)])
    assert copies(found) == 1


def test_every_pass_keeps_its_word_about_copies():
    function, args = layers(4, size=8)
    before = planner.MANY
    planner.MANY = 1
    try:
        lowered = jax.jit(function).trace(*args).lower(debug=True)
        assert lowered.passes
        assert any(isinstance(getattr(kernel, "body", None), Renamed) for kernel in lowered.kernels)
    finally:
        planner.MANY = before
