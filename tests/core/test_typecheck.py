"""check_jaxpr accepts what tracing makes and names what is wrong with anything else."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Var
from tinytrace.core.typecheck import JaxprTypeError, check_jaxpr


@pytest.fixture
def jaxpr():
    return jax.make_jaxpr(lambda x, y: jnp.sin(x) * y)(np.ones(3, np.float32), 2.0).jaxpr


def test_traced_programs_are_well_formed(jaxpr):
    check_jaxpr(jaxpr)
    check_jaxpr(jax.make_jaxpr(lambda x: jax.jit(jnp.sum)(x) + np.arange(3))(1.0))


def test_a_variable_read_before_its_definition(jaxpr):
    with pytest.raises(JaxprTypeError, match="read before it is defined, in equation"):
        check_jaxpr(jaxpr.replace(eqns=jaxpr.eqns[::-1]))


def test_a_variable_defined_twice(jaxpr):
    with pytest.raises(JaxprTypeError, match="defined twice"):
        check_jaxpr(jaxpr.replace(eqns=[*jaxpr.eqns, jaxpr.eqns[0]]))


def test_an_output_that_nobody_defines(jaxpr):
    with pytest.raises(JaxprTypeError, match="read before it is defined"):
        check_jaxpr(jaxpr.replace(outvars=[Var(ShapedArray((), np.dtype("float32")))]))


def test_a_wrong_type(jaxpr):
    wrong = jaxpr.eqns[0].replace(outvars=[Var(ShapedArray((4,), np.dtype("float32")))])
    with pytest.raises(JaxprTypeError, match=r"written as f32\[4\] but the rule of sin derives f32\[3\]"):
        check_jaxpr(jaxpr.replace(eqns=[wrong], outvars=wrong.outvars))
