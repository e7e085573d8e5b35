"""Asks JAX 0.4.35 for the answers of the golden files: `python -m tests.goldens.regenerate [name ...]`.

Run it from the root of the repository, in an environment made by `pip install jax==0.4.35`.
"""

from __future__ import annotations

import sys

import jax
import numpy as np

from tests import goldens


def main(names: list[str]) -> None:
    """Rewrites the named golden files, or all of them, and says how many answers changed."""
    assert jax.__version__ == "0.4.35", f"the oracle is JAX 0.4.35, this is {jax.__version__}"
    np.set_printoptions(legacy="1.25")
    for name in names or goldens.names():
        jax.clear_caches()  # a file's answers do not depend on those before it
        scene, cases = goldens.load(name)
        namespace = goldens.set_scene(scene)
        fresh = [goldens.Case(case.program, goldens.answer(case.program, dict(namespace))) for case in cases]
        goldens.save(name, scene, fresh)
        changed = sum(new != old for new, old in zip(fresh, cases, strict=True))
        print(f"{name}: {len(fresh)} answers, {changed} changed")


if __name__ == "__main__":
    main(sys.argv[1:])
