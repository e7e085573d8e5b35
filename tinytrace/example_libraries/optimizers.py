"""`jax.example_libraries.optimizers`: optimizers as triples of functions.

    init, update, get_params = adam(1e-3)
    state = init(params)
    state = update(step, gradients, state)
    params = get_params(state)

A decorator, `optimizer`, makes such a triple for trees of one for single arrays. Source: JAX 0.4.35.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tinytrace.numpy as jnp
from tinytrace.core.tree_registry import register_pytree_node
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinytrace.records import NamedTuple

Schedule = Callable[[Any], Any]


class Optimizer(NamedTuple):
    """The three functions of an optimizer."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The states of all arrays, flat, and the trees of the parameters and of one array's state."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState, lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda data, children: OptimizerState(children[0], data[0], data[1]))


def optimizer(opt_maker: Callable[..., tuple[Any, Any, Any]]) -> Callable[..., Optimizer]:
    """Decorate a maker of an optimizer of one array: what it makes is one of trees of arrays."""

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return _packed([init(x) for x in leaves], tree)

        def tree_update(i: Any, grads: Any, state: OptimizerState) -> OptimizerState:
            leaves, tree = tree_flatten(grads)
            if tree != state.tree_def:
                raise TypeError("optimizer update function was passed a gradient tree that did not match the parameter "
                                f"tree structure with which it was initialized: parameter tree {state.tree_def} and "
                                f"grad tree {tree}.")
            states = [update(i, g, one) for g, one in zip(leaves, _unpacked(state), strict=True)]
            new = _packed(states, tree)
            for old_tree, new_tree in zip(state.subtree_defs, new.subtree_defs, strict=True):
                if old_tree != new_tree:
                    raise TypeError("optimizer update function produced an output structure that did not match its "
                                    f"input structure: input {old_tree} and output {new_tree}.")
            return new

        def tree_params(state: OptimizerState) -> Any:
            return tree_unflatten(state.tree_def, [get_params(one) for one in _unpacked(state)])

        return Optimizer(tree_init, tree_update, tree_params)

    return tree_opt_maker


def _packed(states: Sequence[Any], tree: PyTreeDef) -> OptimizerState:
    flat = [tree_flatten(state) for state in states]
    return OptimizerState(tuple(tuple(leaves) for leaves, _ in flat), tree, tuple(subtree for _, subtree in flat))


def _unpacked(state: OptimizerState) -> list[Any]:
    return [tree_unflatten(tree, leaves) for tree, leaves in zip(state.subtree_defs, state.packed_state, strict=True)]


# --- optimizers ------------------------------------------------------------------------------------------------

@optimizer
def sgd(step_size: Any) -> Any:
    """Return stochastic gradient descent: `x - step_size * g`.

    >>> init, update, get_params = sgd(0.5)
    >>> get_params(update(0, {"w": 2.0}, init({"w": jnp.array(3.0)})))
    {'w': Array(2., dtype=float32, weak_type=True)}
    """
    schedule = make_schedule(step_size)
    return lambda x0: x0, lambda i, g, x: x - schedule(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Return gradient descent with momentum."""
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(i) * velocity, velocity

    return lambda x0: (x0, jnp.zeros_like(x0)), update, lambda state: state[0]


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Return gradient descent with Nesterov's momentum."""
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(i) * (mass * velocity + g), velocity

    return lambda x0: (x0, jnp.zeros_like(x0)), update, lambda state: state[0]


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Return Adagrad. Source: Duchi, Hazan, Singer (2011)."""
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, g_sq, m = state
        g_sq += jnp.square(g)
        scaled = g * jnp.where(g_sq > 0, 1.0 / jnp.sqrt(g_sq), 0.0)
        m = (1.0 - momentum) * (schedule(i) * scaled) + momentum * m
        return x - m, g_sq, m

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, lambda state: state[0]


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """Return RMSProp. Source: Tieleman and Hinton (2012), lecture 6.5."""
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean_sq = state
        mean_sq = mean_sq * gamma + jnp.square(g) * (1.0 - gamma)
        return x - schedule(i) * g / jnp.sqrt(mean_sq + eps), mean_sq

    return lambda x0: (x0, jnp.zeros_like(x0)), update, lambda state: state[0]


@optimizer
def rmsprop_momentum(step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9) -> Any:
    """Return RMSProp with momentum."""
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean_sq, mom = state
        mean_sq = gamma * mean_sq + (1.0 - gamma) * jnp.square(g)
        mom = momentum * mom + schedule(i) * g / jnp.sqrt(mean_sq + eps)
        return x - mom, mean_sq, mom

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, lambda state: state[0]


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Return Adam. Source: Kingma and Ba, https://arxiv.org/abs/1412.6980."""
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        mhat = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        vhat = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - schedule(i) * mhat / (jnp.sqrt(vhat) + eps), m, v

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, lambda state: state[0]


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Return AdaMax, Adam with the infinity norm. Source: Kingma and Ba, https://arxiv.org/abs/1412.6980."""
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        return x - (schedule(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))) * m / (u + eps), m, u

    return lambda x0: (x0, jnp.zeros_like(x0), jnp.zeros_like(x0)), update, lambda state: state[0]


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """Return SM3, Adagrad with one accumulator for each row, column, ... Source: https://arxiv.org/abs/1901.11150."""
    schedule = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, jnp.zeros_like(x0), [jnp.zeros(size, x0.dtype) for size in x0.shape]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, accumulators = state
        along = [v.reshape([-1 if k == axis else 1 for k in range(g.ndim)]) for axis, v in enumerate(accumulators)]
        total = functools.reduce(jnp.minimum, along) + jnp.square(g)
        scaled = jnp.where(total > 0, g / jnp.sqrt(total), 0.0)
        m = (1.0 - momentum) * scaled + momentum * m
        others = [tuple(k for k in range(g.ndim) if k != axis) for axis in range(g.ndim)]
        return x - schedule(i) * m, m, [total.max(axes) for axes in others]

    return init, update, lambda state: state[0]


# --- step sizes ------------------------------------------------------------------------------------------------

def constant(step_size: Any) -> Schedule:
    """Return the schedule of one step size."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return step sizes that shrink by `decay_rate` in `decay_steps`."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """Return step sizes that shrink with the time."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: float = 1.0) -> Schedule:
    """Return step sizes that go to `final_step_size` in `decay_steps`."""
    def schedule(step: Any) -> Any:
        step = jnp.minimum(step, decay_steps)
        return (1 - step / decay_steps) ** power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return `values`, one before each boundary and one after the last.

    Raises: ValueError when there is not one value more than boundaries.
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError("boundaries and values must be sequences")
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length")
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a schedule; a number is a constant one.

    Raises: TypeError for what is neither.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule  # type: ignore[no-any-return]
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(type(scalar_or_schedule))


# --- gradients -------------------------------------------------------------------------------------------------

def l2_norm(tree: Any) -> Any:
    """Return the norm of all numbers of a tree.

    >>> l2_norm({"a": jnp.array([3.0]), "b": 4.0})
    Array(5., dtype=float32)
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Return gradients, shortened to `max_norm` if they are longer."""
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# --- states as trees -------------------------------------------------------------------------------------------

class JoinPoint:
    """Where the tree of parameters ends and the states of arrays begin: a leaf that holds a tree."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Return the state as a tree of JoinPoints, to be stored."""
    return tree_unflatten(opt_state.tree_def, [JoinPoint(one) for one in _unpacked(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state of what `unpack_optimizer_state` returned."""
    leaves, tree = tree_flatten(marked_pytree)
    assert all(isinstance(leaf, JoinPoint) for leaf in leaves)
    return _packed([leaf.subtree for leaf in leaves], tree)
