"""What builds MLIR is there to be imported, and says what to write instead when it is called."""
import inspect
import typing

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.test_names import NAMES, missing
from tinytrace import core
from tinytrace.interpreters import mlir, mlir_builders

X = np.arange(3, dtype=np.float32)
BUILDERS = [name for name, f in vars(mlir_builders).items() if inspect.isfunction(f)
            and f.__module__ == mlir_builders.__name__ and typing.get_type_hints(f)["return"] is typing.NoReturn]


def test_all_that_jax_has_are_functions():
    assert missing("jax.interpreters.mlir") == []
    assert set(BUILDERS) <= set(NAMES["jax.interpreters.mlir"])
    assert len(BUILDERS) == 16


@pytest.mark.parametrize("name", BUILDERS)
def test_a_builder_says_what_to_write_instead(name):
    builder = getattr(mlir, name)
    needed = [p for p in inspect.signature(builder).parameters.values()
              if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    args = [None for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD]
    options = {p.name: None for p in needed if p.kind is p.KEYWORD_ONLY}
    with pytest.raises(NotImplementedError, match=rf"^mlir\.{name}: .*mlir\.lower_fun\(f\).*mlir\.c_expression or "
                                                  r"mlir\.c_function"):
        builder(*args, **options)


def rule_of(*lines):
    """Returns a primitive of one operand with a lowering rule."""
    p = core.Primitive("built")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, *lines)
    return p


def test_a_rule_that_builds_is_refused_when_it_is_asked():
    p = rule_of(lambda ctx, x: mlir.custom_call("f", result_types=[mlir.aval_to_ir_type(ctx.avals_out[0])],
                                                operands=[x]).results)
    jax.make_jaxpr(p.bind)(X)
    with pytest.raises(NotImplementedError, match="builds no MLIR operations"):
        jax.jit(p.bind)(X)


def test_constants_of_a_class_of_ones_own(monkeypatch):
    class Table:
        def __init__(self, value):
            self.value = value

    class Sorted(Table):
        pass

    monkeypatch.setattr(mlir_builders, "_constant_handlers", {})
    mlir.register_constant_handler(Table, lambda table: mlir.ir_constant(table.value))
    p = rule_of(lambda ctx, x: [jax.lax.add_p.bind(x, mlir.ir_constant(Sorted(X + 1)))])
    np.testing.assert_array_equal(jax.jit(p.bind)(X), 2 * X + 1)
    assert mlir.get_constant_handler(Table)(Table(3)) == 3
    assert mlir.get_constant_handler(int)(3) == mlir.ir_constant(3) == 3


def test_types_of_a_class_of_ones_own(monkeypatch):
    class Quantity(core.AbstractValue):
        pass

    monkeypatch.setitem(mlir.ir_type_handlers, Quantity, lambda aval: ("magnitude", "unit"))
    assert mlir.aval_to_ir_type(Quantity()) == mlir.aval_to_ir_types(Quantity()) == ("magnitude", "unit")
    monkeypatch.setitem(mlir.ir_type_handlers, Quantity, lambda aval: "magnitude")
    assert mlir.aval_to_ir_types(Quantity()) == ("magnitude",)
    with pytest.raises(NotImplementedError, match=r"mlir\.aval_to_ir_type: "):
        mlir.aval_to_ir_types(core.ShapedArray((3,), np.float32))


def test_sizes_as_an_array():
    @jax.jit
    def sizes(n):
        return mlir.shape_tensor([2, n, np.int64(4)])

    assert sizes(3).tolist() == [2, 3, 4]
    assert sizes(3).dtype == jnp.int32
