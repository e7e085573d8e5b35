"""Columns of lines of C belong to equations, wherever the lines are moved."""

from hypothesis import given
from hypothesis import strategies as st

from tinytrace.codegen.c.lines import COMPUTE, COPY, Line, marked, named

words = st.text("ab+", min_size=1)
pieces = st.recursive(words, lambda inner: st.builds(
    lambda parts, eqns, role: marked(" ".join(parts), eqns, role),
    st.lists(inner, min_size=1, max_size=3), st.frozensets(st.integers(0, 5)), st.sampled_from([COMPUTE, COPY])))


@given(pieces, st.integers(1, 3))
def test_a_line_further_to_the_left_is_the_line_that_is_written_there(piece, depth):
    text = f"{named('y')}[i] = {piece};"
    moved, written = Line.of(text, "    " * depth).outdented(), Line.of(text, "    " * (depth - 1))
    assert moved == written
    assert [getattr(moved, name) for name in ("spans", "role", "eqns", "names")] == \
        [getattr(written, name) for name in ("spans", "role", "eqns", "names")]


@given(pieces, st.dictionaries(st.integers(0, 5), st.frozensets(st.integers(6, 9), max_size=2)))
def test_a_line_that_stands_for_others_belongs_to_their_equations_too(piece, counterparts):
    line = Line.of(f"{named('y')}[i] = {piece};", "    ")
    also = line.also(counterparts)
    assert also == line
    assert also.eqns == line.eqns.union(*(counterparts.get(k, ()) for k in line.eqns))
    assert [(span.begin, span.end, span.role) for span in also.spans] == \
        [(span.begin, span.end, span.role) for span in line.spans]


@given(pieces, st.frozensets(st.integers(0, 5)))
def test_an_owner_is_asked_only_where_nothing_is_marked(piece, owner):
    line = Line.of(piece, "", COPY)
    owned = Line.of(piece, "", COPY).owned_by(owner)
    assert owned.eqns == (line.eqns or owner)
    assert owned.role == (line.role if line.eqns or owner else "scaffold")
