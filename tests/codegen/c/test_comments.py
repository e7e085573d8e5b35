"""Whatever users call things: their text ends no comment, and the program is the one without it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.ad_checkpoint import checkpoint_name
from tinytrace.codegen.c.comments import ALPHABET, comment

X = np.linspace(-1, 1, 16, dtype=np.float32)
HOSTILE = [
    "*\\ extern int system(const char *); __attribute__((constructor)) void f(void) { system(\"exit\"); } \\*",
    "*/ int x; /*", "*??/\n/ int x;", "*\\\n/ int x;", "\\", "??/", "\n*/", "\r*/", "\x0c*/", "\u2028*/", "*\x00/",
    "\udc80*/\udcff", "\ud83d", "*\u2215", "#include <nowhere.h>\n#include <nowhere.h>", "\n#error no\n", "\x1b[2J",
    "tt_sin_f32(x) tt_floordiv(", "'", '"', "%s%n", "/*" * 50, "//\\", "_Pragma(\"GCC error\")", "\u202e/*", "ß" * 9999,
]  # fmt: skip
anything = st.text(st.characters(codec=None, exclude_categories=()))
texts = anything | st.text("*/\\?\n\r\"'# ax\x00\udc80") | st.sampled_from(HOSTILE)


@given(texts)
def test_a_comment_ends_where_it_should(text):
    written = "\n".join(comment(text))
    assert written.startswith("/* ")
    assert written.endswith(" */")
    assert set(written[2:-2].replace("\n * ", "").replace("\n ", "")) <= ALPHABET
    assert [found.group() for found in re.finditer(r"/\*|\*/", written)] == ["/*", "*/"]
    assert written.isascii()
    assert without_comments("a" + written + "b") == "ab"


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def c_text(name: str) -> str:
    def named(x):
        return checkpoint_name(jnp.cos(x), name) * 2

    return jax.jit(named).lower(X).as_text()


def program_without(text: str) -> str:
    return re.sub(r"\s+", " ", without_comments(text))


@given(texts)
@example(HOSTILE[0])
def test_the_program_is_the_same_whatever_a_value_is_called(name):
    assert program_without(c_text(name)) == program_without(c_text("plain"))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_compile_as_any_other(name):
    def function(x):
        return checkpoint_name(jnp.cos(x), name) * 2

    function.__name__ = function.__qualname__ = name.replace("\0", "")
    compiled = jax.jit(function).lower(X).compile()
    assert compiled.executable is not None
    np.testing.assert_allclose(compiled(X), np.cos(X) * 2, 1e-5)
    nested = jax.jit(lambda x: jax.jit(function)(x) + jax.named_scope(name)(jnp.sin)(x))
    np.testing.assert_allclose(nested(X), np.cos(X) * 2 + np.sin(X), 1e-5)
