"""Old names of tree functions work, and say what to write instead."""
import pytest

import tinytrace as jax
from tinytrace.deprecated import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_old_names_warn(name):
    new = name.removeprefix("tree_")
    told = rf"jax\.{name} is deprecated: use jax\.tree\.{new} \(jax v0.4.25 or newer\) or jax\.tree_util\.{name} \(any"
    with pytest.warns(DeprecationWarning, match=told) as caught:
        assert getattr(jax, name) is getattr(jax.tree_util, name)
    assert caught[0].filename == __file__


def test_other_names_are_missing():
    with pytest.raises(AttributeError, match="module 'tinytrace' has no attribute 'tree_nothing'"):
        jax.tree_nothing  # noqa: B018
