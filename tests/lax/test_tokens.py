"""Tokens are handed on as values; their texts are in goldens/small_names.txt."""

import pickle

from tinytrace import core, lax, make_jaxpr


def test_programs_with_tokens_are_pickled():
    program = make_jaxpr(lambda a: lax.after_all(lax.create_token(a)))(1.0)
    again = pickle.loads(pickle.dumps(program))
    assert str(again) == str(program)
    assert [eqn.primitive for eqn in again.eqns] == [lax.create_token_p, lax.after_all_p]
    assert again.out_avals[0] is core.abstract_token
    assert isinstance(pickle.loads(pickle.dumps(lax.create_token())), core.Token)
