"""The public names of JAX 0.4.35: all are here but those that goldens/missing_names.txt lists.

`make_names` asks JAX for the names; `pytest --update-golden` writes the list anew.
"""

import importlib
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from tinytrace.missing import is_refused

ROOT = pathlib.Path(__file__).parent.parent
NAMES = json.loads((ROOT / "tests" / "goldens" / "names.json").read_text())


def test_missing_names(golden):
    """Asked in a fresh process, for every import adds a name."""
    fresh = subprocess.run([sys.executable, "-m", "tests.test_names"], cwd=ROOT, text=True, check=True,
                           stdout=subprocess.PIPE)
    golden("missing_names.txt", fresh.stdout)


@pytest.mark.parametrize("module", [
    "jax", "jax.lax", "jax.lax.linalg", "jax.core", "jax.util", "jax.interpreters.ad", "jax.interpreters.batching",
    "jax.interpreters.partial_eval", "jax.sharding", "jax.errors", "jax.debug"])
def test_all_names_are_there_for_an_import_with_a_star(module):
    """Those too whose modules are imported when they are first asked for."""
    imported = {}
    exec(f"from {module.replace('jax', 'tinytrace', 1)} import *", imported)
    assert set(NAMES[module]) - {"config", *missing(module)} <= set(imported)


def missing(module):
    """The names of a module of JAX that its module here lacks."""
    ours = module.replace("jax", "tinytrace", 1)
    if importlib.util.find_spec(ours) is None:
        return ["(all)"]
    here = importlib.import_module(ours)
    return [name for name in NAMES[module] if not hasattr(here, name) or is_refused(getattr(here, name))]


if __name__ == "__main__":
    for module in NAMES:
        print(f"{module}:", *(missing(module) or ["nothing"]))
