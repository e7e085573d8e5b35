"""The form that a program has in every process: equal for what is the same, and for nothing else."""
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.determinism import PARTS, programs
from tests.core.test_structure import OTHER_PROGRAMS, X
from tests.examples import examples
from tinytrace import lax
from tinytrace.codegen.generate import generate
from tinytrace.core.canonical import canonical_form, closed_over
from tinytrace.passes.simplify import simplify
from tinytrace.testing.strategies import programs_with_arguments


def form(fun, *args):
    return canonical_form(jax.make_jaxpr(fun)(*(args or (X,))).jaxpr)


@pytest.mark.parametrize(("one", "other"), [
    *OTHER_PROGRAMS,
    (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
     lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)),
    (lambda x: lax.dot(x, x, precision="high"), lambda x: lax.dot(x, x)),
])
def test_other_programs_have_other_forms(one, other):
    assert form(one) != form(other)
    assert form(one) == form(one) is not None


def test_types_settings_and_the_order_of_operands_matter():
    jaxpr = jax.make_jaxpr(lambda x: x)(X).jaxpr
    assert form(lambda x, y: x - y, X, X) != form(lambda x, y: y - x, X, X)
    assert form(lambda x: x + 1, X) != form(lambda x: x + 1, X.astype(np.float16))
    assert form(lambda x: x + 1, X) != form(lambda x: x + 1, np.ones(4, np.float32))
    more = [(1,), (True,), (1.0,), ("1",), (None,), ((1,),), (), (1, 2), ((1, 2),), (0.0,), (-0.0,)]
    assert len({canonical_form(jaxpr, *each) for each in more}) == len(more)


def test_a_program_that_holds_what_is_its_process_s_own_has_no_form():
    own = jax.core.Primitive("own_of_this_test")
    own.def_abstract_eval(lambda x: x)
    assert form(own.bind) is None
    assert form(lambda x: jax.pure_callback(np.sin, x, x)) is None
    assert canonical_form(jax.make_jaxpr(lambda x: x)(X).jaxpr, object()) is None


def test_arrays_that_bodies_close_over_are_numbered():
    c, d, e = jnp.arange(3.0), jnp.ones(3), np.arange(3)

    def form_with(one, other):
        return form(lambda xs: jax.lax.map(jax.jit(lambda x: x * one + other), xs), jnp.ones((2, 3)))
    assert form_with(c, d) == form_with(d, c) != form_with(c, c) == form_with(d, d) is not None
    assert form_with(c, e) != form_with(c, d)
    closed = jax.make_jaxpr(lambda x: jax.jit(lambda y: jax.jit(lambda z: z + d)(y * c) + d)(x))(c)
    assert [id(each) for each in closed_over(closed.jaxpr)] == [id(c), id(d)]


@examples(60)
@given(programs_with_arguments(contraction=True))
def test_random_programs_of_one_form_are_one_c(case):
    program, arguments = case
    one, other = (simplify(jax.make_jaxpr(program.function())(*arguments)) for _ in range(2))
    assert canonical_form(one.jaxpr) == canonical_form(other.jaxpr) is not None
    assert generate(one).source == generate(other).source


def forms():
    """The C text of every form among the programs of the determinism tests, and those without a form."""
    texts, without = {}, []
    for part in PARTS:
        for name, (function, *args) in programs(part).items():
            closed = simplify(jax.make_jaxpr(function)(*args))
            found = canonical_form(closed.jaxpr)
            if found is None:
                without.append(name)
            else:
                texts.setdefault(found, set()).add(generate(closed).source.text)
    return texts, without


@pytest.mark.slow
def test_programs_of_one_form_are_one_c():
    texts, without = forms()
    assert len(texts) > 150
    assert [found for found, of in texts.items() if len(of) > 1] == []
    assert len(without) < len(texts) / 20, without


def test_processes_and_hash_seeds_do_not_show_in_forms():
    code = ("import tinytrace as jax, tinytrace.numpy as jnp, hashlib, numpy as np\n"
            "from tinytrace.core.canonical import canonical_form\n"
            "f = lambda x: jnp.sort(jnp.tanh(x @ x.T), axis=0).sum() + jax.random.normal(jax.random.PRNGKey(0))\n"
            "jaxpr = jax.jit(jax.grad(f)).lower(np.ones((3, 4))).jaxpr.jaxpr\n"
            "print(hashlib.sha256(canonical_form(jaxpr)).hexdigest())")
    found = {subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
                            capture_output=True, text=True, check=True).stdout for seed in ("1", "2")}
    assert len(found) == 1
