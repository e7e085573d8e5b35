"""An operation is spelled from a template as its formula is spelled itself."""

from hypothesis import given
from hypothesis import strategies as st

from tinytrace.codegen.c.formulas import Text, spelled_formula, spelled_operation
from tinytrace.core.dtypes import FLOAT32
from tinytrace.core.formulas import Formula, call, choose, operand

words = st.builds(Text, st.sampled_from(["x", "y[i]", "a + b", "(void *[]){p, 0}", "%s", "{0}"]), st.booleans(),
                  st.booleans())
formulas = st.recursive(
    st.builds(lambda k: operand(k, FLOAT32), st.integers(0, 2)),
    lambda inner: st.one_of(
        st.builds(lambda x, y: x + y, inner, inner), st.builds(lambda x, y: x * y, inner, inner),
        st.builds(lambda x: -x, inner), st.builds(lambda x: call("sin", x), inner),
        st.builds(lambda x, y, z: choose(x < y, y, z), inner, inner, inner),
        st.builds(lambda x, y, z, n: Formula("fma", (x, y, z, n), FLOAT32), inner, inner, inner,
                  st.sampled_from(["", "product", "addend"]))),
    max_leaves=6)


@given(formulas, st.lists(words, min_size=3, max_size=3))
def test_a_template_gives_what_the_formula_gives(formula, operands):
    for _ in range(2):  # made, then found
        assert spelled_operation(formula, operands) == spelled_formula(formula, lambda part: operands[part.args[0]])
