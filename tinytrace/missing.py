"""Names that JAX 0.4.35 has and tinytrace has not: why, and what to do instead.

A missing name is missing: `hasattr` says so. To ask for it is an AttributeError, and in `from jax import x` an
ImportError, with the sentence of the page "Missing names". A few that libraries only mention when they are
imported, such as `jax.core.DShapedArray`, are there as classes that refuse to be used (`refused`).
"""
from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

DEVICES = "there is one device, the CPU of this machine: without the call the program computes the same"
INSIDE = "it is a part of XLA's and has no counterpart here"
SIZES = "sizes are numbers here, and known when a program is traced"
CALLS = "a call is one equation with a jaxpr (pjit, closed_call), whose primitive has a rule for each transformation"

MISSING: dict[str, dict[str, str]] = {
    "tinytrace.lax": {
        "infeed infeed_p outfeed outfeed_p":
            "they need an accelerator that is fed while it computes: use arguments and results, or "
            "jax.experimental.io_callback",
        "select_and_scatter_p": "it is the transpose of lax.reduce_window: take jax.grad of that",
    },
    "tinytrace.core": {
        "InDBIdx OutDBIdx": SIZES,
    },
    "tinytrace.interpreters.batching": {
        "IndexedAxisSize Jumble JumbleAxis JumbleTy RaggedAxis jumble_axis": "there are no ragged arrays",
        "ZeroIfMapped": "loops find out by themselves which carries are batched (tinytrace/control_flow/bodies.py)",
    },
    "tinytrace.interpreters.partial_eval": {
        "BoundedAxisSize TracerAsName call_padding_rule def_trivial_padding infer_lambda_input_type pad_jaxpr "
        "padding_rules trace_to_jaxpr_dynamic2 trace_to_jaxpr_final2 trace_to_subjaxpr_dynamic2": SIZES,
        "ResAvalUpdater call_partial_eval_custom_rule call_partial_eval_rules "
        "closed_call_partial_eval_custom_rule custom_staging_rules": CALLS,
        "ConstFoldRule ForwardingRule const_fold_rules forwarding_rules":
            "what is known without an equation its primitive says (`Primitive.fold`, tinytrace/core/primitive.py)",
        "ConstVar FreeVar JaxprEqnRecipe JaxprTracerRecipe LambdaBinding TracerId instantiate_const_at new_eqn_recipe "
        "recipe_to_eqn tracers_to_jaxpr":
            "a rule writes equations by `trace.record(primitive, args, params)` (tinytrace/transforms/partial_eval.py)",
        "JaxprStackFrame extend_jaxpr_stack partial_eval_wrapper_nounits trace_to_subjaxpr trace_to_subjaxpr_dynamic "
        "trace_to_subjaxpr_nounits trace_to_subjaxpr_nounits_fwd":
            "they continue in a trace of JAX's stack: pe.trace_to_jaxpr_dynamic and trace_to_jaxpr_nounits start one",
        "arg_info_all debug_info debug_info_final result_info sig_info":
            "names of arguments are looked up when a message or a text needs them (tinytrace/core/user_names.py)",
    },
    "tinytrace.interpreters.pxla": {
        "MeshComputation MeshExecutable PmapExecutable global_aval_to_result_handler "
        "global_avals_to_results_handler parallel_callable shard_args": DEVICES,
    },
    "tinytrace.interpreters.xla": {
        "Backend": INSIDE,
    },
    "tinytrace.extend.backend": {
        "register_backend_factory": DEVICES,
    },
}  # fmt: skip
"""By module: names, and the sentence about them. The page "Missing names" is made of it."""


def sentence(module: str, name: str) -> str | None:
    """Return what is to be said of a name of JAX that a module lacks; None for a name that JAX has not either.

    >>> sentence("tinytrace.lax", "select_and_scatter_p")
    'it is the transpose of lax.reduce_window: take jax.grad of that'
    """
    return next((text for names, text in MISSING.get(module, {}).items() if name in names.split()), None)


def absent(module: str, name: str) -> Any:
    """Answer a question for `name`, which `module` has not.

    Raises: AttributeError, or in `from module import name` ImportError, with the sentence about a name of JAX.
    """
    text = sentence(module, name)
    if text is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    message = f"{module.replace('tinytrace', 'jax', 1)}.{name} is a name of JAX that tinytrace does not have: {text}"
    raise ImportError(message) if _is_imported_from() else AttributeError(message, name=name)


def _is_imported_from() -> bool:
    """Does a statement `from module import name` ask? It says of an AttributeError only that the name is not there."""
    for frame in _frames():
        if not frame.f_globals.get("__name__", "").startswith("tinytrace"):
            return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM" if frame.f_lasti >= 0 else False
    return False


def _frames() -> Iterator[Any]:
    frame = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]


# --- names that may be mentioned ---------------------------------------------------------------------------------

class _MayBeMentioned(type):
    """The class of classes that stand for a missing name: to mention one does no harm, to use it says why not."""

    reason: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls.reason)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(cls.reason, name=name)

    def __repr__(cls) -> str:
        return f"<{cls.__name__}, which is not here>"


def refused(name: str, text: str) -> Any:
    """Return what stands for `name`, which libraries mention: a class of which nothing is an instance.

    >>> jumble = refused("jax.jumble", "there are no ragged arrays")
    >>> isinstance(1, jumble)
    False
    >>> jumble(1)
    Traceback (most recent call last):
    NotImplementedError: tinytrace does not have jax.jumble: there are no ragged arrays
    """
    reason = f"tinytrace does not have {name}: {text}"
    return _MayBeMentioned(name.rpartition(".")[2], (), {"reason": reason, "__doc__": reason, "__module__": __name__})


def is_refused(value: Any) -> bool:
    """Does a value only stand for a name that is missing?"""
    return isinstance(value, _MayBeMentioned) or getattr(type(value), "stands_for_a_missing_name", False)
