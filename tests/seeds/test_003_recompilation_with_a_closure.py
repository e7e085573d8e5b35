"""Seed 003: "JAX, recompilation when using closure for a function": new values in a pytree do not recompile."""

from tests.seeds import lines, run

ANSWER = "[30. 51.]\n[60. 81.]"  # of JAX 0.4.35; the text prints none


def program_counting_traces():
    """The program of the text, with `traces` as the number of times its scan body is traced."""
    head = "def scan_body(params, state, input):\n"
    return "traces = []\n" + lines("003", 10, 60).replace(head, head + "    traces.append(1)\n")


def test_it_runs():
    assert run(lines("003", 10, 60), {"__name__": "__main__"}) == ANSWER


def test_two_params_with_equal_static_parts_are_traced_once():
    names = {"__name__": "__main__"}
    assert run(program_counting_traces(), names) == ANSWER
    assert run("len(traces), example._cache_size()", names) == "(1, 1)"


def test_other_values_hit_and_another_static_part_misses():
    names = {"__name__": "__main__"}
    run(program_counting_traces(), names)
    run("_ = example(Params(jnp.array([5., 6.]), 2))", names)
    assert run("len(traces), example._cache_size()", names) == "(1, 1)"
    run("_ = example(Params(jnp.array([5., 6.]), 1))", names)
    assert run("len(traces), example._cache_size()", names) == "(2, 2)"
