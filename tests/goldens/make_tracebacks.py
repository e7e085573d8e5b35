"""Asks JAX 0.4.35 what it shows of mistakes: `python -m tests.goldens.make_tracebacks`, as `regenerate` says."""
from __future__ import annotations

import json
import pathlib

import jax

from tests.goldens.mistakes_of_beginners import MISTAKES
from tests.goldens.tracebacks import shown

PATH = pathlib.Path(__file__).with_name("tracebacks.json")

if __name__ == "__main__":
    assert jax.__version__ == "0.4.35", f"the oracle is JAX 0.4.35, this is {jax.__version__}"
    answers = {name: shown(mistake.program, jax, jax.numpy)._asdict() for name, mistake in MISTAKES.items()}
    for answer in answers.values():
        del answer["notes"], answer["text"]
        answer["message"] = answer["message"].replace(f"{PATH.parents[2]}/", "")  # where the checkout stands
    PATH.write_text(json.dumps(answers, indent=1) + "\n")
