"""The errors of tracing, each with its help page: what happened, why it must, and the same program repaired.

Classes, bases and messages are those of JAX 0.4.35. Most take the tracer that was misused and write the message
themselves: a tracer offers `aval` and `_origin_msg()`, the sentence that says which function was being traced, at
which of the user's lines, and on which argument the value depends.
"""

from __future__ import annotations

from typing import Any, Protocol

from tinytrace.util import lazy_names

HELP_PAGE = "https://jax.readthedocs.io/en/latest/errors.html#jax.errors"


class TracerLike(Protocol):
    """What an error needs to know of the tracer that was misused."""

    @property
    def aval(self) -> Any: ...

    def _origin_msg(self) -> str: ...


class _HelpPageError(Exception):
    """An error whose message ends with the address of its help page."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}\nSee {HELP_PAGE}.{type(self).__name__}")


class JAXTypeError(_HelpPageError, TypeError):
    """A value was used in a way that its kind does not allow."""


class JAXIndexError(_HelpPageError, IndexError):
    """An index of a kind that cannot be used while a function is traced."""


class JaxRuntimeError(RuntimeError):
    """A compiled program failed while it ran."""


class ConcretizationTypeError(JAXTypeError):
    """The value of a traced array was asked for, but while a function is traced there is only a type.

    `jit` runs your function once with stand-ins that know their shape and dtype and no numbers. Whatever needs
    a number at that time cannot work: `float(x)`, `x.item()`, or a shape that depends on what `x` holds.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> @jax.jit
        ... def rows(n):
        ...     return jnp.zeros((int(n), 2))
        >>> rows(3)
        Traceback (most recent call last):
        ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: ...

    If the value decides about shapes and takes few values, let it be static: each value gets a program of its own.

        >>> from functools import partial
        >>> @partial(jax.jit, static_argnums=0)
        ... def rows(n):
        ...     return jnp.zeros((int(n), 2))
        >>> rows(3).shape
        (3, 2)

    If it is the number of elements that you select, keep the shape and neutralise what you do not want.

        >>> @jax.jit
        ... def sum_of_positive(x):
        ...     return jnp.where(x > 0, x, 0).sum()
        >>> sum_of_positive(jnp.array([3, -1, 4]))
        Array(7, dtype=int32)
    """

    def __init__(self, tracer: TracerLike, context: str = "") -> None:
        super().__init__(
            "Abstract tracer value encountered where concrete value is expected: "
            f"{_describe(tracer)}\n{context}{tracer._origin_msg()}\n"
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """Python asked a traced array whether it is true, to choose a branch or to end a loop.

    `if`, `while`, `and`, `or`, `not`, `assert`, `min(x, y)` and `x in xs` all ask. The answer does not exist
    yet: the function is traced once for all values.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> @jax.jit
        ... def relu(x):
        ...     return x if x > 0 else 0.0
        >>> relu(3.0)
        Traceback (most recent call last):
        TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[]. ...

    Compute both sides and select (this also works elementwise):

        >>> @jax.jit
        ... def relu(x):
        ...     return jnp.where(x > 0, x, 0.0)
        >>> relu(3.0)
        Array(3., dtype=float32, weak_type=True)

    or run one side only, with `lax.cond`, and `lax.while_loop` for loops:

        >>> @jax.jit
        ... def relu(x):
        ...     return jax.lax.cond(x > 0, lambda x: x, lambda x: 0.0, x)
        >>> relu(3.0)
        Array(3., dtype=float32, weak_type=True)

    A flag that takes few values is better static: it is then an ordinary Python value in the function.

        >>> from functools import partial
        >>> @partial(jax.jit, static_argnames="scale")
        ... def relu(x, scale):
        ...     return 2 * x if scale else x
        >>> relu(3.0, scale=True)
        Array(6., dtype=float32, weak_type=True)
    """

    def __init__(self, tracer: TracerLike) -> None:
        _HelpPageError.__init__(self, f"Attempted boolean conversion of {_describe(tracer)}.{tracer._origin_msg()}")


class TracerIntegerConversionError(JAXTypeError):
    """A traced array was used where Python needs an integer: as a list index, in `range`, as an axis.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> table = [10, 20, 30]
        >>> @jax.jit
        ... def look_up(i):
        ...     return table[i]
        >>> look_up(1)
        Traceback (most recent call last):
        TracerIntegerConversionError: The __index__() method was called on traced array with shape int32[]...

    Index an array instead of a list:

        >>> @jax.jit
        ... def look_up(i):
        ...     return jnp.array(table)[i]
        >>> look_up(1)
        Array(20, dtype=int32)

    or, when there are few values, let the argument be static:

        >>> from functools import partial
        >>> @partial(jax.jit, static_argnums=0)
        ... def look_up(i):
        ...     return table[i]
        >>> look_up(1)
        Array(20, dtype=int32, weak_type=True)
    """

    def __init__(self, tracer: TracerLike) -> None:
        super().__init__(f"The __index__() method was called on {_describe(tracer)}{tracer._origin_msg()}")


class TracerArrayConversionError(JAXTypeError):
    """A traced array was handed to NumPy, which computes at once and needs the numbers.

        >>> import numpy as np
        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> @jax.jit
        ... def wave(x):
        ...     return np.sin(x)
        >>> wave(0.0)
        Traceback (most recent call last):
        TracerArrayConversionError: The numpy.ndarray conversion method __array__() was called on traced array ...

    Use the function of the same name from `tinytrace.numpy`, which can be traced:

        >>> @jax.jit
        ... def wave(x):
        ...     return jnp.sin(x)
        >>> wave(0.0)
        Array(0., dtype=float32, weak_type=True)

    The same happens when a NumPy array is indexed by a tracer: `table[i]` asks `i` to become an array. Make the
    table an array of ours first: `jnp.asarray(table)[i]`.
    """

    def __init__(self, tracer: TracerLike) -> None:
        super().__init__(
            f"The numpy.ndarray conversion method __array__() was called on {_describe(tracer)}{tracer._origin_msg()}"
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed by a traced mask: how many elements that selects, and so the shape, is not known.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> @jax.jit
        ... def clip(x):
        ...     return x[x > 0].sum()
        >>> clip(jnp.array([3, -1, 4]))
        Traceback (most recent call last):
        NonConcreteBooleanIndexError: Array boolean indices must be concrete; got ...

    Keep the shape and replace the elements that the mask leaves out by what does no harm:

        >>> @jax.jit
        ... def clip(x):
        ...     return jnp.where(x > 0, x, 0).sum()
        >>> clip(jnp.array([3, -1, 4]))
        Array(7, dtype=int32)
    """

    def __init__(self, tracer: object) -> None:
        super().__init__(f"Array boolean indices must be concrete; got {tracer}\n")


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used after the function it belongs to had been traced: it has leaked.

    The function put an intermediate value into a list, a global or an attribute. What is there afterwards is
    a stand-in without a value.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> seen = []
        >>> @jax.jit
        ... def double(x):
        ...     seen.append(x + 1)
        ...     return 2 * x
        >>> double(1)
        Array(2, dtype=int32, weak_type=True)
        >>> seen[0] + 1
        Traceback (most recent call last):
        UnexpectedTracerError: ...

    Return what is wanted outside:

        >>> @jax.jit
        ... def double(x):
        ...     return 2 * x, x + 1
        >>> doubled, more = double(1)
        >>> more + 1
        Array(3, dtype=int32, weak_type=True)
    """


class KeyReuseError(JAXTypeError):
    """A random key was used twice: the second draw would repeat the first.

    Raised while the setting `debug_key_reuse` is on; typed keys alone are watched.

        >>> import tinytrace as jax
        >>> with jax.debug_key_reuse(True):
        ...     key = jax.random.key(0)
        ...     first = jax.random.normal(key)
        ...     second = jax.random.normal(key)
        Traceback (most recent call last):
        KeyReuseError: Previously-consumed key passed to jit-compiled function at index 0...

    Split a key to get as many independent ones as there are draws:

        >>> draw_key, later_key = jax.random.split(jax.random.key(0))
    """


def long_type(aval: Any) -> str:
    """A type as messages spell it: `float32[2,3]`."""
    return f"{aval.dtype.name}[{','.join(map(str, aval.shape))}]"


def _describe(tracer: TracerLike) -> str:
    return f"traced array with shape {long_type(tracer.aval)}"


def nan_error(name: str, found: str = "nan") -> FloatingPointError:
    """Return the error of `debug_nans` and `debug_infs`: what the compiled function or the operation `name` gave."""
    return FloatingPointError(
        f"invalid value ({found}) encountered in jit({name}). Because jax_config.debug_nans.value and/or "
        "config.jax_debug_infs is set, the de-optimized function (i.e., the function as if the `jit` decorator were "
        "removed) was called in an attempt to get a more precise error message. However, the de-optimized function "
        "did not produce invalid values during its execution. This behavior can result from `jit` optimizations "
        "causing the invalid value to be produced. It may also arise from having nan/inf constants as outputs, like "
        "`jax.jit(lambda ...: jax.numpy.nan)(...)`. \n\nIt may be possible to avoid the invalid value by removing the "
        "`jit` decorator, at the cost of losing optimizations. \n\nIf you see this error, consider opening a bug "
        "report at https://github.com/jax-ml/jax.")


def too_few_devices(replicas: int, name: str) -> ValueError:
    """Return the error of a mapped function in a program: `name_program` may name another one."""
    error = ValueError()
    error.replicas = replicas  # type: ignore[attr-defined]
    name_program(error, name)
    return error


def name_program(error: Exception, name: str) -> None:
    """Let the error about missing devices name the program that is compiled: the one around all others is named last.

    Other errors stay as they are.
    """
    if hasattr(error, "replicas"):
        error.args = (f"compiling computation `{name}` that requires {error.replicas} replicas, but only 1 XLA devices "
                      "are available.",)


__getattr__ = lazy_names("tinytrace", {"SimplifiedTraceback": "tracebacks"}, __name__)
