"""Rows on the stack are registers: one vector by itself, more of them because loops are unrolled."""
import re

import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_goldens import f32
from tests.codegen.test_programs import generated
from tinytrace.codegen.c.short_rows import UNROLL


def text(*shapes):
    return generated(jnp.matmul, *[f32(*shape) for shape in shapes]).source.text


@pytest.mark.parametrize("n", [8, 16])
def test_rows_that_are_a_vector_need_no_unrolling_where_there_are_such_vectors(n):
    guard = {8: "__AVX__", 16: "__AVX512F__"}[n]
    assert text((100, 4, n), (100, n, n)).startswith(f"#ifndef {guard}\n{UNROLL}#endif\n")


@pytest.mark.parametrize("n", [5, 12])
def test_rows_of_other_sizes_are_unrolled(n):
    assert text((100, 4, n), (100, n, n)).startswith(UNROLL)


def test_loops_of_few_turns_over_them_are_written_out():
    assert "#pragma GCC unroll 8\n" in text((100, 8, 8), (100, 8, 8))
    assert "#pragma GCC unroll" not in text((100, 16, 16), (100, 16, 16))


def test_programs_without_rows_say_nothing():
    assert "peel-loops" not in generated(lambda x: x + 1, f32(100)).source.text


def test_a_loop_of_few_turns_around_long_folds_is_none_over_a_row():
    def scores(x, y):
        return (jax.nn.log_softmax(x) + y[..., None]).reshape(8, 4000)
    source = generated(scores, f32(8, 4, 1000), f32(8, 4)).source.text
    assert re.search(r"float \w+\[4\]", source), "results of folds wait in a row that is a vector"
    assert "#pragma GCC unroll" not in source


@pytest.mark.parametrize("function", [jax.nn.softmax, lambda x: jnp.einsum("ij,kj->ik", 2 * x, x)])
def test_a_loop_of_few_turns_that_updates_no_row_from_around_it_is_left_alone(function):
    source = generated(function, f32(8, 16)).source.text
    assert re.search(r"float \w+\[16\]", source), "there are rows that are vectors"
    assert "#pragma GCC unroll" not in source
