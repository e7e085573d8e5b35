"""One rival in its own process and environment: prepares lines and times them on request, as JSON over pipes.

    prepare NAME  -> {"ok": true, "result": path of the result as .npy, "calls": how many calls make one sample}
    time          -> {"seconds": time per call of one sample}
"""
from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import lines  # noqa: F401  (fills LINES)
import numpy as np
from harness import LINES, Call, Line

SAMPLE_SECONDS = 0.02


def main() -> None:
    rival, folder = sys.argv[1], sys.argv[2]
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    state: dict[str, Any] = {}
    for text in sys.stdin:
        command = json.loads(text)
        try:
            reply = prepare(rival, folder, command["prepare"], state) if "prepare" in command else sample(state)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(reply), file=replies, flush=True)


def prepare(rival: str, folder: str, name: str, state: dict[str, Any]) -> dict[str, Any]:
    line = next(x for x in LINES if x.name == name)
    assert isinstance(line, Line)
    call = make_call(rival, line)
    result = call()
    path = ""
    if line.compare:
        path = os.path.join(folder, f"{rival}.npy")
        np.save(path, to_flat(result))
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-8)
    state.update(call=call, calls=max(1, min(20000, int(SAMPLE_SECONDS / once))))
    return {"ok": True, "result": path, "calls": state["calls"]}


def make_call(rival: str, line: Line) -> Call:
    inputs = line.inputs()
    if rival in ("jax", "tinytrace"):
        jax = __import__(rival)
        jnp = __import__(f"{rival}.numpy", fromlist=["numpy"])
        return line.jaxlike(jax, jnp, *[jnp.asarray(x) for x in inputs])
    maker = getattr(line, rival)
    if maker is None:
        raise LookupError("no implementation")
    if rival == "torch":
        import torch
        return maker(*[torch.from_numpy(np.array(x)) for x in inputs])
    return maker(*inputs)


def sample(state: dict[str, Any]) -> dict[str, Any]:
    call, calls = state["call"], state["calls"]
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return {"seconds": (time.perf_counter() - start) / calls}


def to_flat(result: Any) -> np.ndarray[Any, Any]:
    leaves = result if isinstance(result, (tuple, list)) else [result]
    return np.concatenate([np.asarray(x, dtype=np.float64).ravel() for x in leaves])


if __name__ == "__main__":
    main()
