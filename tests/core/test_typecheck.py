"""check_jaxpr accepts what tracing makes and names what is wrong with anything else."""
import itertools
import re

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
    with pytest.raises(JaxprTypeError, match=r"^Variable 'd' not defined\n\nin equation:\n\nc:f32\[3\] = mul d e"):
        check_jaxpr(jaxpr.replace(eqns=jaxpr.eqns[::-1]))


def test_a_variable_defined_twice(jaxpr):
    with pytest.raises(JaxprTypeError, match=r"^Variable 'c' already bound\n\nin equation:\n\nc:f32\[3\] = sin a"):
        check_jaxpr(jaxpr.replace(eqns=[*jaxpr.eqns, jaxpr.eqns[0]]))


def test_an_output_that_nobody_defines(jaxpr):
    with pytest.raises(JaxprTypeError, match=r"(?s)^Variable 'f' not defined\n\nwhile checking jaxpr:\n\n\{ lambda"):
        check_jaxpr(jaxpr.replace(outvars=[Var(ShapedArray((), np.dtype("float32")))]))


def test_a_wrong_type():
    """The text of JAX 0.4.35, with 20 equations of a long program."""
    def f(x):
        for _ in range(15):
            x = x + x
        x = jnp.sin(x)
        for _ in range(15):
            x = x + x
        return x

    jaxpr = jax.make_jaxpr(f)(jnp.float32(1)).jaxpr
    jaxpr.eqns[15].outvars[0].aval = ShapedArray((), np.dtype("int32"))
    with pytest.raises(JaxprTypeError) as raised:
        check_jaxpr(jaxpr)
    head, source, program = re.split(r"from source: (.*)\n\n", str(raised.value))
    assert head == ("Value for variable 'q' inconsistently typed as f32[] for let-binder of type i32[]\n\n"
                    "in equation:\n\nq:i32[] = sin p\n\n")
    assert "test_typecheck.py" in source
    assert program == "\n".join([
        "while checking jaxpr:", "", "{ lambda ; a:f32[]. let", "    ...",
        *(f"    {out}:f32[] = add {x} {x}" for x, out in itertools.pairwise("fghijklmnop")), "    q:i32[] = sin p",
        *(f"    {out}:f32[] = add {x} {x}" for x, out in itertools.pairwise("qrstuvwxyz")), "    ...",
        "  in (bf,) }"])


def wrong(f, message, x=1.0, **params):
    """Check the program of `f` with other parameters, or with other operands, in its last equation."""
    jaxpr = jax.make_jaxpr(f)(x).jaxpr
    eqn = jaxpr.eqns[-1]
    invars = params.pop("invars", eqn.invars)
    with pytest.raises(JaxprTypeError, match=re.escape(message) + "\n\nin equation:"):
        check_jaxpr(jaxpr.replace(eqns=[*jaxpr.eqns[:-1], eqn.replace(invars=invars, params={**eqn.params, **params})]))


@pytest.mark.parametrize(("name", "value", "message"), [
    ("reverse", 4, "of type int, bool required: 4"), ("num_consts", -3, "of type int, non-negative int required: -3"),
    ("linear", (1,), "of type tuple, tuple of bool required: (1,)"),
    ("unroll", "a", "of type str, positive int required: a"),
    ("num_carry", True, "of type bool, non-negative int required: True"),
])  # fmt: skip
def test_parameters_of_a_scan_have_types(name, value, message):
    wrong(lambda x: jax.lax.scan(lambda c, _: (c * 2, c), x, None, length=3), f"invalid scan param {name} {message}",
          **{name: value})


def test_calls_fit_their_programs():
    def scanned(x):
        return jax.lax.scan(lambda c, _: (c * 2, c), x, None, length=3)

    wide = jax.make_jaxpr(lambda x: (jnp.stack([x, x]), x))(1.0)
    wrong(scanned, "scan input carry input and output types mismatch: \nfloat32[]\nvs\nfloat32[2]", jaxpr=wide)
    wrong(scanned, "scan called with 0 operands, but its jaxpr takes 1", invars=[])
    wrong(jax.jit(lambda x: x + 1), "Call primitive pjit with 0 operands cannot call jaxpr with 1 inputs", invars=[])

    def switched(x):
        return jax.lax.switch(0, [jnp.sin, jnp.cos], x)

    index = jax.make_jaxpr(lambda: 1)().jaxpr.outvars[0]
    one, none = jax.make_jaxpr(jnp.sin)(1.0), jax.make_jaxpr(lambda: 1.0)()
    wrong(switched, "invalid cond param branches of type tuple, tuple of ClosedJaxpr required: (4, 2)", branches=(4, 2))
    wrong(switched, "cond branch 0 takes 0 inputs, branch 1 takes 1", branches=(none, one))
    wrong(switched, "cond called with 0 non-predicate operands, but branches take 1 inputs", invars=[index])
