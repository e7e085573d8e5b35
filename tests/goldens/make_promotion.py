"""Asks JAX 0.4.35 for the dtype of every sum of two types: `python -m tests.goldens.make_promotion`."""
import json
import pathlib
import warnings

import jax
import jax.numpy as jnp

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64"]


def table() -> dict[str, str]:
    """Return `left right x64 -> dtype`, with a star for weak types."""
    out = {}
    warnings.simplefilter("ignore")
    for x64 in (False, True):
        jax.config.update("jax_enable_x64", x64)
        values = {name: jnp.ones((), name) for name in DTYPES}
        values.update(py_bool=True, py_int=1, py_float=1.0, weak_int=jnp.asarray(1), weak_float=jnp.asarray(1.0))
        for a, x in values.items():
            for b, y in values.items():
                result = jnp.add(x, y)
                out[f"{a} {b} {int(x64)}"] = f"{result.dtype}{'*' if result.weak_type else ''}"
    return out


if __name__ == "__main__":
    (pathlib.Path(__file__).parent / "promotion.json").write_text(json.dumps(table(), indent=0))
