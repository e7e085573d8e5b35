"""Seed 001: "Caching Behavior in JAX": a static flag costs one compilation for each of its values."""

from tests.seeds import commented_answers, lines, notebook, run


def test_the_question_compiles_only_two_times():
    names = notebook(x=1.0)
    run(lines("001", 7, 14), names)
    run(lines("001", 20, 23), names)
    assert run("f._cache_size()", names) == "2"


def test_cache_sizes():
    program = lines("001", 37, 66) + "\n" + lines("001", 72, 77)
    assert commented_answers(program).split() == ["0", "1", "2", "2", "4"]
    assert run(program, {}) == commented_answers(program)
