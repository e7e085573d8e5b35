"""The debugger's page: what is on it, how large it is, and that it needs nothing."""
import html
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.inspection.debugger.test_session import X, f
from tinytrace.inspection.debugger.page import STEPS
from tinytrace.inspection.debugger.session import debugger
from tinytrace.inspection.linked_texts.fixed import fixed_part


def texts(text):
    """The texts in the page, by the keys of their panes."""
    found = re.findall(r'<pre id="(\w+)"[^>]*>\n(.*?)</pre>', text, re.DOTALL)
    return {key: html.unescape(body) for key, body in found}


def test_it_is_a_text_before_it_is_a_program():
    session = debugger(f)(X)
    shown = texts(session.page.to_html())
    assert list(shown) == ["python", "jaxpr", "run"]
    assert shown["jaxpr"] == session.program.pretty_print(names="user")
    assert "    y = jnp.sin(x) * 2" in shown["python"].splitlines()
    lines = shown["run"].splitlines()
    assert len(lines) == len(session.recording.events) + 1
    assert lines[1] == "y:f32[3] = mul a 2.0  # [1.682942, 1.818595, 0.28224 ]"
    assert lines[-1] == "the end"
    assert "All 12 equations of the run." in session.page.to_html()


@pytest.mark.not_quick
def test_its_size_is_bounded_and_it_loads_nothing():
    long = debugger(lambda x: jax.lax.fori_loop(0, 5000, lambda i, c: jnp.sin(c) * 2, x))(1.0)
    page = long.to(4000).page.to_html()
    assert len(texts(page)["run"].splitlines()) == STEPS + 2  # the loop around, the end
    assert "The equations 3000 to 4999 of 15001: show the session again at another place for others." in page
    assert len(page.encode()) <= 250_000
    assert len("".join(fixed_part("debugger", f"page.{kind}") for kind in ("js", "css")).encode()) <= 10_000
    assert re.findall(r"""(?:src|href)\s*=|url\(|@import|https?:""", page) == []


def test_what_a_run_ended_with():
    def broken(x):
        return jax.pure_callback(lambda y: 1 / 0, x, jnp.sin(x))
    assert texts(debugger(broken)(1.0).page.to_html())["run"].endswith("the end: ZeroDivisionError: division by zero")
    short = debugger(lambda x: jax.lax.fori_loop(0, 9, lambda i, c: c + 1.0, x), limit=10)(0.0).page.to_html()
    assert "The equations 0 to 9 of 10 that were recorded, until the limit" in short
    assert texts(short)["run"].endswith("... the run goes on, this page ends here")


def test_what_users_write_stays_text():
    def fails(x):
        return jax.pure_callback(raising, x, x)  # </pre><script>

    def raising(x):
        raise ValueError("</script><script>alert(1)</script>\nsecond line")

    fails.__name__ = "</title><script>"
    page = debugger(fails)(1.0).page.to_html()
    assert page.count("<script") == 2
    assert texts(page)["run"].endswith("ValueError: </script><script>alert(1)</script>")


def test_values_of_all_types():
    def g(key, x, flag, small, empty):
        return jax.random.split(key), x * 2, ~flag, small + 1, empty + 1

    session = debugger(g)(jax.random.key(0), jnp.full(9, jnp.nan, "bfloat16"), jnp.ones(9, bool),
                          jnp.arange(8, dtype="uint8"), np.zeros((0, 3), np.float32))
    run = texts(session.page.to_html())["run"]
    for value in ("# 9 values, 9 not finite", "# 9 values", "# 8 values from 1 to 8", "# []"):
        assert value in run
