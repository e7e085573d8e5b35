"""The public names of JAX 0.4.35: all are here but those that goldens/missing_names.txt lists.

`make_names` asks JAX for the names; `pytest --update-golden` writes the list anew.
"""

import importlib
import importlib.util
import json
import pathlib

NAMES = json.loads((pathlib.Path(__file__).parent / "goldens" / "names.json").read_text())


def missing(module):
    """The names of a module of JAX that its module here lacks."""
    ours = module.replace("jax", "tinytrace", 1)
    if importlib.util.find_spec(ours) is None:
        return ["(all)"]
    here = importlib.import_module(ours)
    return [name for name in NAMES[module] if not hasattr(here, name)]


def test_missing_names(golden):
    lacking = {module: missing(module) for module in NAMES}
    golden("missing_names.txt", "".join(f"{m}: {' '.join(names) or 'nothing'}\n" for m, names in lacking.items()))
