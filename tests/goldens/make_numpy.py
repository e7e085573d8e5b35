"""Asks JAX 0.4.35 what numpy's functions print and compute: `python -m tests.goldens.make_numpy`.

Run it from the root of the repository, in an environment made by `pip install jax==0.4.35`. Writes numpy.json: a scene,
and programs `{fn, args}` with the text of `make_jaxpr(fn)(*args)` and the leaves of `fn(*args)`, or with an error.
"""

from __future__ import annotations

import json
import pathlib
import warnings

import jax
import numpy as np

from tests.goldens.make_transforms import record
from tests.goldens.numpy_programs import PROGRAMS, SCENE


def main() -> None:
    """Write numpy.json."""
    assert jax.__version__ == "0.4.35", f"the oracle is JAX 0.4.35, this is {jax.__version__}"
    np.set_printoptions(legacy="1.25")
    warnings.simplefilter("ignore")
    scene: dict[str, object] = {}
    exec(SCENE, scene)
    programs = [record(*split(line), scene) for line in PROGRAMS.splitlines()]
    lines = ",\n".join(json.dumps(program) for program in programs)
    path = pathlib.Path(__file__).parent / "numpy.json"
    path.write_text(f'{{"scene": {json.dumps(SCENE)},\n"programs": [\n{lines}\n]}}\n')
    print(f"{len(programs)} programs, {sum('error' in program for program in programs)} of them end in an error")


def split(line: str) -> tuple[str, str]:
    """The function and the arguments of a line; `|` in a function is no separator."""
    fn, _, args = line.rpartition(" |")
    return fn.strip(), args.strip()


if __name__ == "__main__":
    main()
