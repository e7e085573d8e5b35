"""Asks JAX 0.4.35 for its public names: `python -m tests.goldens.make_names`."""
import importlib
import json
import pathlib
import types
import warnings

MODULES = ["jax", "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.lax.linalg", "jax.nn",
           "jax.nn.initializers", "jax.random", "jax.image", "jax.scipy", "jax.scipy.special", "jax.scipy.linalg",
           "jax.scipy.signal", "jax.scipy.stats", "jax.scipy.stats.norm",
           "jax.tree", "jax.tree_util", "jax.debug", "jax.dtypes", "jax.errors",
           "jax.ad_checkpoint", "jax.custom_derivatives", "jax.flatten_util", "jax.test_util", "jax.core", "jax.util",
           "jax.api_util", "jax.interpreters.ad", "jax.interpreters.batching", "jax.interpreters.mlir",
           "jax.interpreters.partial_eval", "jax.interpreters.pxla", "jax.interpreters.xla", "jax.extend.core",
           "jax.extend.linear_util", "jax.extend.random", "jax.extend.backend", "jax.extend.source_info_util",
           "jax.sharding", "jax.stages", "jax.monitoring"]


def public_names(module: types.ModuleType) -> list[str]:
    """Return the names that users may type: no private ones, no modules of other packages."""
    found = []
    for name in sorted(dir(module)):
        if name.startswith("_"):
            continue
        try:
            value = getattr(module, name)
        except AttributeError:  # removed, and saying so
            continue
        home = getattr(value, "__name__", "") if isinstance(value, types.ModuleType) else "jax."
        if home.startswith("jax.") and not home.startswith("jax._"):
            found.append(name)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    names = {module: public_names(importlib.import_module(module)) for module in MODULES}
    (pathlib.Path(__file__).parent / "names.json").write_text(json.dumps(names, indent=0))
