"""Statements with other expressions in the place of some: what is not concerned stays the same object."""

import numpy as np

from tinytrace.codegen.ir.nodes import axis, fresh_nodes, load, local, number
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Declare, For, Store

F32 = np.dtype("float32")
A, B, C = (Buffer(name, (4,), F32, "workspace") for name in "abc")


def loop(i, *body):
    return For(i, number(0), number(4), list(body))


def test_only_what_is_concerned_is_made_anew():
    with fresh_nodes():
        i, j, x = axis("i", 4), axis("j", 4), local("x", F32)
        kept, changed = Store((B, i), x), Store((C, i), load(A, i, F32))
        other = loop(j, Store((B, j), x))
        body = [Declare(x, load(B, number(0), F32)), loop(i, kept, changed), other]
        old = load(A, i, F32)
        result = Replacement({old: load(B, i, F32)}).of(body)
        assert result[0] is body[0]
        assert result[2] is other
        assert result[1] is not body[1]
        assert result[1].body[0] is kept
        assert result[1].body[1].value == load(B, i, F32)
        assert changed.value is old  # the statements given stay as they are


def test_places_and_axes_are_concerned_too():
    with fresh_nodes():
        i, j, x, y = axis("i", 4), axis("j", 4), local("x", F32), local("y", F32)
        body = [Declare(x, number(0)), loop(i, Store((A, number(0)), x), Store(x, number(1)))]
        declared, around = Replacement({x: y, i: j}, {A: C}).of(body)
        assert declared.local is y
        assert around.axis is j
        assert [stmt.place for stmt in around.body] == [(C, number(0)), y]
        assert around.body[0].value is y
