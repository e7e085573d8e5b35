"""Tokens are handed on as values; their texts are in goldens/small_names.txt."""

import pickle

import pytest

import tinytrace.numpy as jnp
from tinytrace import core, jit, lax, make_jaxpr


def test_programs_with_tokens_are_pickled():
    program = make_jaxpr(lambda a: lax.after_all(lax.create_token(a)))(1.0)
    again = pickle.loads(pickle.dumps(program))
    assert str(again) == str(program)
    assert [eqn.primitive for eqn in again.eqns] == [lax.create_token_p, lax.after_all_p]
    assert again.out_avals[0] is core.abstract_token
    assert isinstance(pickle.loads(pickle.dumps(lax.create_token())), core.Token)


def test_a_token_has_no_elements():
    for token in (lax.create_token(), jit(lax.create_token)()):
        with pytest.raises(RuntimeError, match="Cannot convert a token-shape buffer to a numpy array"):
            token._buf  # noqa: B018
    assert not hasattr(jnp.ones(2), "_buf")
