"""Seed 000: "Does jax save the jaxpr of jit compiled functions?" """

from tests.seeds import commented_answers, lines, notebook, run


def test_each_shape_gets_its_own_answer():
    assert run(lines("000", 9, 20), {}) == lines("000", 24, 25)


def test_the_jaxpr_of_the_first_call_has_no_conditional():
    names = notebook()
    run(lines("000", 12, 17), names)
    assert run("print(jax.make_jaxpr(test)(jnp.ones(8)))", names) == lines("000", 29, 31)


def test_cache_sizes():
    program = lines("000", 40, 67)
    assert commented_answers(program).split() == ["0", "1", "1", "2", "2"]
    assert run(program, notebook()) == commented_answers(program)
