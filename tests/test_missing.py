"""Names of JAX that are missing: each has a sentence, which whoever asks for it reads."""

import importlib

import pytest

import tinytrace as jax
from tests.test_names import NAMES, missing
from tinytrace.missing import MISSING, is_refused, sentence


def test_every_missing_name_has_a_sentence():
    for module in NAMES:
        ours = module.replace("jax", "tinytrace", 1)
        silent = [name for name in missing(module) if not sentence(ours, name)]
        assert silent == [], f"say in tinytrace/missing.py what to do instead of these names of {module}"


def test_whoever_asks_reads_it():
    with pytest.raises(AttributeError, match=r"jax\.lax\.approx_max_k is a name of JAX that tinytrace does not have: "
                                             r"use lax\.top_k, which is exact"):
        jax.lax.approx_max_k  # noqa: B018
    with pytest.raises(ImportError, match=r"use lax\.top_k, which is exact"):
        exec("from tinytrace.lax import approx_max_k")
    assert not hasattr(jax.lax, "approx_max_k")


def test_other_names_are_just_not_there():
    for module in ("tinytrace", *MISSING):
        with pytest.raises(AttributeError, match=f"^module '{module}' has no attribute 'nonsense'$"):
            importlib.import_module(module).nonsense  # noqa: B018
        with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
            exec(f"from {module} import nonsense")


def test_names_that_may_be_mentioned():
    """Libraries name them in annotations, in isinstance, as bases and default arguments."""
    assert is_refused(jax.pmap) and jax.pmap is jax.pmap  # noqa: PT018
    assert not isinstance(1, jax.pmap)
    for use in (lambda: jax.pmap(len), lambda: jax.lax.psum(1, "i")):
        with pytest.raises(NotImplementedError, match="tinytrace does not have jax"):
            use()
    with pytest.raises(AttributeError, match="there is one device"):
        jax.pmap.lower  # noqa: B018
