"""Inputs and outputs moved, dropped and followed."""

import numpy as np

from tinytrace import lax
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import eval_jaxpr
from tinytrace.transforms.binders import forwarded_inputs, move_binders_to_back, move_binders_to_front, prune_outputs
from tinytrace.transforms.staging import trace_to_closed_jaxpr

F32 = ShapedArray((), np.dtype(np.float32))


def closed():
    return trace_to_closed_jaxpr(lambda a, b, c: [lax.sub(a, b), c, lax.mul(b, c), a], [F32] * 3)


def run(program, *args):
    return [float(x) for x in eval_jaxpr(program.jaxpr, program.consts, *map(np.float32, args))]


def test_moving_binders_moves_the_arguments():
    program = closed()
    assert run(move_binders_to_front(program, [False, True, True]), 2, 3, 1) == run(program, 1, 2, 3)
    assert run(move_binders_to_back(program, [True, False, False]), 2, 3, 1) == run(program, 1, 2, 3)
    assert run(move_binders_to_back(program, [True, False, True]), 2, 1, 3) == run(program, 1, 2, 3)


def test_the_same_move_is_the_same_object():
    program = closed()
    assert move_binders_to_front(program, [False, True, True]) is move_binders_to_front(program, [False, True, True])
    assert prune_outputs(program, [True, False, True, True]) is prune_outputs(program, [True, False, True, True])


def test_pruned_outputs_are_gone():
    assert run(prune_outputs(closed(), [False, True, True, False]), 1, 2, 3) == [3, 6]


def test_outputs_that_only_hand_on_an_input_are_known():
    assert forwarded_inputs(closed().jaxpr) == [None, 2, None, 0]
