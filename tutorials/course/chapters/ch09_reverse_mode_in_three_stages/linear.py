"""What chapter 9 needs: linear functions that count how often they are called, slopes without compiling, programs as rows."""

import string

import numpy as np

import tinytrace as jax
from tinytrace.core.jaxpr import Literal
from tinytrace.core.trace import interpreting


def jacobian_of(matrix, jacobian):
    """What `jacobian` makes of the linear function of a matrix, and how often it asked."""
    matrix, calls = np.array(matrix), []

    def push(tangents):
        calls.append("push")
        return (matrix @ np.array(tangents)).tolist()

    def pull(cotangents):
        calls.append("pull")
        return (matrix.T @ np.array(cotangents)).tolist()

    found = jacobian(push, pull, matrix.shape[1], matrix.shape[0])
    return [found.tolist() if hasattr(found, "tolist") else found, len(calls)]


def value_and_slope(f, x):
    """The value of a function at a number and its derivative there, backward and forward; nothing is compiled."""
    with interpreting():
        value, slope = jax.value_and_grad(f)(x)
        tangent = jax.jvp(f, (x,), (1.0,))[1]
    return [float(value), float(slope), float(tangent)]


def rows(closed):
    """The inputs and equations of a program as texts, for drawing: letters as they are printed."""
    letters = iter(string.ascii_letters)
    names = {v: next(letters) for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars)}
    inputs, eqns = list(names.values()), []
    for eqn in closed.eqns:
        operands = [str(atom.val) if isinstance(atom, Literal) else names[atom] for atom in eqn.invars]
        names[eqn.outvars[0]] = next(letters)
        eqns.append((names[eqn.outvars[0]], eqn.primitive.name, operands))
    return inputs, eqns
