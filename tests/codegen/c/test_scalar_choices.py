"""A choice between two numbers that a loop has computed is no jump: such a jump is guessed wrong every other time."""

import platform
import re
import shutil

import pytest

import tinytrace.numpy as jnp
from tests.codegen.c.test_vector_width import assembled
from tests.codegen.test_goldens import i32
from tests.codegen.test_programs import generated
from tinytrace import lax
from tinytrace.runtime.flags import quick_flags


def steps(n):
    """How many steps Collatz's rule takes from `n` to 1."""
    return lax.while_loop(lambda s: s[0] != 1,
                          lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]


@pytest.mark.parametrize("quick", [False, True])
def test_a_choice_of_two_numbers_is_a_move(quick):
    command = shutil.which("gcc")
    if command is None or platform.machine() != "x86_64":
        pytest.skip("there is no gcc that writes for x86")
    flags = quick_flags("gcc (GCC) 12.2.0, x86_64", quick)
    assembly = assembled(command, [*flags, "-march=x86-64-v3"], generated(steps, i32()).source.text)
    assert re.search(r"\bcmov", assembly)
    assert len(re.findall(r"^\s+j(?!mp)\w+\s", assembly, re.MULTILINE)) <= 2  # the loop's own: into it, and back
