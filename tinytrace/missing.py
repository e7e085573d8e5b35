"""Names that JAX 0.4.35 has and tinytrace has not: why, and what to do instead.

A missing name is missing: `hasattr` says so. To ask for it is an AttributeError, and in `from jax import x` an
ImportError, with the sentence of the page "Missing names". A few that libraries only mention when they are
imported, such as `jax.pmap`, are there as classes that refuse to be used (`refused`).
"""
from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

DEVICES = "there is one device, the CPU of this machine: without the call the program computes the same"
COLLECTIVES = "axes have no names here: sum over the axis itself (x.sum(axis)) outside of vmap"
LIBRARY = "it is not worth its lines here: use SciPy or NumPy outside of jit, or through jax.pure_callback"
FORMATS = "no kernel computes with less than a byte or with eight-bit floats: convert to int8 or bfloat16"
INSIDE = "it is a part of XLA's and has no counterpart here"
SETTINGS = "what it sets is not here; the settings that are: `jax.config`, docs/settings.md"
TRANSPOSE = "write the rule with jax.custom_vjp"
COMPLEX = "complex numbers are on their way: until then, compute with real and imaginary parts"
FFT = "use numpy.fft outside of jit, or through jax.pure_callback"
RANDOM_BITS = "use jax.random.bits, whose generator is threefry"

MISSING: dict[str, dict[str, str]] = {
    "tinytrace": {
        "Shard device_put_replicated device_put_sharded distributed host_count host_id host_ids make_mesh "
        "make_array_from_callback make_array_from_process_local_data make_array_from_single_device_arrays "
        "default_device spmd_mode live_arrays transfer_guard transfer_guard_device_to_device "
        "transfer_guard_device_to_host transfer_guard_host_to_device": DEVICES,
        "debug_infs debug_key_reuse default_matmul_precision default_prng_impl enable_checks enable_custom_prng "
        "enable_custom_vjp_by_custom_transpose jax2tf_associative_scan_reductions legacy_prng_key no_tracing "
        "numpy_rank_promotion softmax_custom_jvp threefry_partitionable": SETTINGS,
        "custom_batching": "write the batched function, and call it in the place of vmap",
        "custom_transpose": TRANSPOSE,
        "dlpack": "arrays have __dlpack__: numpy.from_dlpack(x), torch.from_dlpack(x)",
        "image": LIBRARY,
        "version": "tinytrace.__version__ is tinytrace's; after tinytrace.install_as_jax() there is jax.version",
        "print_environment_info": "`python -m tinytrace doctor` prints what this machine has",
        "profiler": "tinytrace.profile(f)(x) shows the time of each kernel",
    },
    "tinytrace.numpy": {
        "ComplexWarning roots sort_complex": COMPLEX,
        "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz int2 int4 uint2 uint4": FORMATS,
    },
    "tinytrace.numpy.linalg": {"eig eigvals": COMPLEX},
    "tinytrace.numpy.fft": {
        "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn": FFT,
    },
    "tinytrace.lax": {
        "DotAlgorithm": "the precision of products is that of their types",
        "ConvGeneralDilatedDimensionNumbers DotDimensionNumbers PrecisionLike": "it is a name for annotations only",
        "FftType fft fft_p": FFT,
        "complex complex_p conj conj_p imag_p real_p": COMPLEX,
        "RandomAlgorithm rng_bit_generator rng_bit_generator_p rng_uniform rng_uniform_p": RANDOM_BITS,
        "after_all after_all_p create_token create_token_p infeed infeed_p outfeed outfeed_p": INSIDE,
        "all_gather all_gather_p all_to_all all_to_all_p axis_index axis_index_p pbroadcast pmax pmax_p pmean pmin "
        "pmin_p ppermute ppermute_p pshuffle psum psum_p psum_scatter pswapaxes": COLLECTIVES,
        "approx_max_k approx_min_k approx_top_k_p": "use lax.top_k, which is exact",
        "conv_general_dilated_local conv_general_dilated_patches conv_general_permutations conv_general_shape_tuple "
        "conv_shape_tuple conv_transpose_shape_tuple": "use lax.conv_general_dilated; eval_shape tells its shape",
        "dtype": "use x.dtype, or jnp.result_type(x)",
        "index_take": "use jnp.take or x[indices]",
        "ragged_dot": "use one product for each group",
        "scan_bind": "use lax.scan",
        "select_and_scatter_p": "it is the transpose of lax.reduce_window: take jax.grad of that",
        "sharding_constraint_p with_sharding_constraint": DEVICES,
    },
    "tinytrace.scipy": {"cluster fft integrate interpolate ndimage signal": LIBRARY},
    "tinytrace.scipy.special": {
        "bessel_jn exp1 expi expn fresnel hyp1f1 lpmn lpmn_values sph_harm": LIBRARY,
    },
    "tinytrace.scipy.linalg": {"eigh_tridiagonal funm hessenberg polar rsf2csf schur sqrtm": LIBRARY},
    "tinytrace.scipy.stats": {"gaussian_kde": LIBRARY},
    "tinytrace.debug": {
        "DebugEffect": "the effects of programs are in jaxpr.effects",
        "breakpoint": "jax.debugger(f)(x) walks through a program equation by equation",
        "inspect_array_sharding visualize_array_sharding visualize_sharding": DEVICES,
    },
    "tinytrace.errors": {"SimplifiedTraceback": "a shortened traceback is an UnfilteredStackTrace's"},
    "tinytrace.ad_checkpoint": {
        "Offloadable Recompute Saveable": "a policy is a function to a bool: see jax.checkpoint_policies",
    },
    "tinytrace.custom_derivatives": {
        "custom_jvp_call_jaxpr_p custom_vjp_call_jaxpr_p custom_vjp_primal_tree_values zero_from_primal":
            "it is a part of JAX's insides, which are written in another way here",
        "linear_call": TRANSPOSE,
    },
}  # fmt: skip
"""By module: names, and the sentence about them. The page "Missing names" is made of it."""

MENTIONED = {
    "tinytrace": "device_put_replicated device_put_sharded",
    "tinytrace.lax": "all_gather all_to_all axis_index pbroadcast pmax pmean pmin ppermute psum psum_scatter pswapaxes "
                     "with_sharding_constraint",
    "tinytrace.numpy": "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz int2 int4 uint2 "
                       "uint4",
    "tinytrace.scipy.special": "exp1 expi expn",
    "tinytrace.scipy.stats": "gaussian_kde",
}
"""Names that libraries mention when they are imported, to use them or not: these can be had, and not be used."""


def sentence(module: str, name: str) -> str | None:
    """Return what is to be said of a name of JAX that a module lacks; None for a name that JAX has not either.

    >>> sentence("tinytrace.lax", "approx_max_k")
    'use lax.top_k, which is exact'
    """
    return next((text for names, text in MISSING.get(module, {}).items() if name in names.split()), None)


def absent(module: str, name: str) -> Any:
    """Answer a question for `name`, which `module` has not: with a stand-in, if it is one of MENTIONED.

    Raises: AttributeError, or in `from module import name` ImportError, with the sentence about a name of JAX.
    """
    text = sentence(module, name)
    if text is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    theirs = module.replace("tinytrace", "jax", 1)
    if name in MENTIONED.get(module, "").split():
        if (module, name) not in _stand_ins:
            _stand_ins[module, name] = refused(f"{theirs}.{name}", text)
        return _stand_ins[module, name]
    message = f"{theirs}.{name} is a name of JAX that tinytrace does not have: {text}"
    raise ImportError(message) if _is_imported_from() else AttributeError(message, name=name)


_stand_ins: dict[tuple[str, str], Any] = {}


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
    return isinstance(value, _MayBeMentioned)
