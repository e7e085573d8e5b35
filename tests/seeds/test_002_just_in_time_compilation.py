"""Seed 002: JAX's own chapter "Just-in-time compilation"."""

import numpy as np
import pytest

from tests.seeds import CELL_FILE, lines, notebook, run


def error_text(first: int, last: int) -> str:
    """The error in these lines, in the words of JAX 0.4.35 and with the file of our cell.

    The text was made with an older JAX, which ended the first sentence with two dots.
    """
    text = lines("002", first, last).replace("bool[]..", "bool[].")
    for file in ("/tmp/ipykernel_2798/2956679937.py", "/tmp/ipykernel_2798/722961019.py"):
        text = text.replace(file, CELL_FILE)
    return text


def test_log2():
    names = {}
    assert run(lines("002", 11, 22), names) == lines("002", 23, 27)
    assert len(names["global_list"]) == 1


def test_log2_with_print():
    assert run(lines("002", 39, 45), notebook()) == lines("002", 46, 51)


def test_log2_if_rank_2():
    assert run(lines("002", 59, 67), notebook()) == lines("002", 68, 68)


def test_selu_jitted_is_selu():
    names = {}
    assert run(lines("002", 74, 81), names) == ""
    assert run(lines("002", 88, 93), names) == ""
    run("eager, jitted = selu(x), selu_jit(x)", names)
    np.testing.assert_allclose(names["eager"], names["jitted"], rtol=1e-6)
    np.testing.assert_allclose(names["jitted"], 1.05 * np.where(np.arange(1e6) > 0, np.arange(1e6), 0), rtol=1e-6)


def test_condition_on_a_value_raises():
    assert run(lines("002", 108, 116), notebook()) == error_text(117, 119)


def test_while_loop_on_a_value_raises():
    assert run(lines("002", 120, 128), notebook()) == error_text(129, 131)


def test_while_loop_with_a_jitted_body():
    assert run(lines("002", 137, 149), notebook()) == lines("002", 150, 150)


def test_static_arguments():
    names = notebook()
    run(lines("002", 110, 114), names)
    run(lines("002", 122, 126), names)
    assert run(lines("002", 156, 157), names) == lines("002", 158, 158)
    assert run(lines("002", 159, 160), names) == lines("002", 161, 161)


def test_static_arguments_in_a_decorator():
    assert run(lines("002", 165, 174), notebook()) == lines("002", 175, 175)


@pytest.fixture
def loops():
    """The names of the section on jit in loops, with the number of times the innermost function is traced."""
    names = notebook(traces=[])
    program = lines("002", 187, 214).replace("  return prev_i + 1", "  traces.append(prev_i)\n  return prev_i + 1")
    run(program, names)
    return names


def test_jit_in_loops_prints_its_headings(loops):
    headings = [lines("002", line, line) for line in (224, 226, 228)]
    assert run(lines("002", 216, 223).replace("%timeit ", "_ = "), loops).split("\n") == headings


@pytest.mark.parametrize(("style", "traces"), [("partial", 20), ("lambda", 20), ("normal", 1)])
def test_jit_in_loops_traces_as_the_text_says(loops, style, traces):
    assert run(f"g_inner_jitted_{style}(10, 20)", loops) == "Array(30, dtype=int32, weak_type=True)"
    assert len(loops["traces"]) == traces
