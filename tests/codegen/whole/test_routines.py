"""Hand-written functions are given pointers of their parameters' types, on which newer compilers insist."""
import functools

from tests.codegen.test_programs import compiles_without_warnings, generated
from tests.primitives import domains
from tinytrace.core.avals import aval_of
from tinytrace.core.kinds import Routine


def calls_of_routines():
    """A call for each sample of a primitive that hand-written functions compute, and its arguments."""
    for primitive in domains.tried():
        for sample in domains.samples(primitive.name):
            avals = [aval_of(x) for x in sample.args]
            outs = primitive.abstract_eval(*avals, **sample.params)
            outs = outs if isinstance(outs, list) else [outs]
            if isinstance(primitive.lower(avals, outs, **sample.params), Routine):
                yield functools.partial(primitive.bind, **sample.params), sample.args


def test_pointers_are_of_their_types():
    """To gcc 14 others are an error: a sort of pairs was for the interpreter there."""
    calls = list(calls_of_routines())
    assert len(calls) > 50
    text = generated(lambda lists: [f(*args) for (f, _), args in zip(calls, lists, strict=True)],
                     [args for _, args in calls]).source.text
    assert "host->order(" in text
    assert "host->sort(" in text
    assert compiles_without_warnings(text)
