"""Names of JAX that are missing: each has a sentence, which whoever asks for it reads."""

import importlib

import numpy as np
import pytest

import tinytrace as jax
from tests.test_names import NAMES, missing
from tinytrace.missing import MISSING, is_refused, sentence


@pytest.mark.not_quick
def test_every_missing_name_has_a_sentence():
    for module in NAMES:
        ours = module.replace("jax", "tinytrace", 1)
        here = importlib.import_module(ours)
        silent = [name for name in missing(module)
                  if not sentence(ours, name) and not is_refused(getattr(here, name, None))]
        assert silent == [], f"say in tinytrace/missing.py what to do instead of these names of {module}"


@pytest.mark.not_quick
def test_whoever_asks_reads_it():
    with pytest.raises(AttributeError, match=r"jax\.interpreters\.pxla\.MeshExecutable is a name of JAX that tinytrace "
                                             r"does not have: there is one device"):
        jax.interpreters.pxla.MeshExecutable  # noqa: B018
    with pytest.raises(ImportError, match=r"there is one device"):
        exec("from tinytrace.interpreters.pxla import MeshExecutable")
    assert not hasattr(jax.interpreters.pxla, "MeshExecutable")


def test_other_names_are_just_not_there():
    for module in ("tinytrace", *MISSING):
        with pytest.raises(AttributeError, match=f"^module '{module}' has no attribute 'nonsense'$"):
            importlib.import_module(module).nonsense  # noqa: B018
        with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
            exec(f"from {module} import nonsense")


def test_names_that_may_be_mentioned():
    """Libraries name them in annotations, in isinstance, as bases and default arguments."""
    assert is_refused(jax.interpreters.pxla.MapTracer)
    assert not isinstance(1, jax.interpreters.pxla.MapTracer)
    with pytest.raises(NotImplementedError, match=r"does not have jax\.interpreters\.pxla\.MapTracer: there is one"):
        jax.interpreters.pxla.MapTracer(1)
    with pytest.raises(AttributeError, match="there is one device"):
        jax.interpreters.pxla.MapTracer.bind  # noqa: B018


def test_pmap_is_vmap_over_the_one_device():
    x = np.float32([[1, 2]])
    assert jax.pmap(lambda a, n: a * n, static_broadcasted_argnums=1)(x, 3).tolist() == [[3, 6]]
    assert jax.grad(lambda a: jax.pmap(lambda b: b * b)(a).sum())(x).tolist() == [[2, 4]]
    with pytest.raises(ValueError, match="compiling computation that requires 2 logical devices, but only 1 XLA"):
        jax.pmap(lambda a: a)(x.T)
    with pytest.raises(ValueError, match="its rank should be at least 1, but is only 0"):
        jax.pmap(lambda a: a)(1.0)
