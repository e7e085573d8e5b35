"""What is on the explorer's page: the texts themselves, linked as the source map does it; one file, of its size."""
import html
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tests.inspection.explorer.programs import PROGRAMS, page, selu
from tinytrace.cli.__main__ import main
from tinytrace.cli.explore import argument
from tinytrace.inspection.linked_texts.fixed import fixed_part
from tinytrace.inspection.linked_texts.marked_text import Part, in_lines
from tinytrace.runtime import disassembly
from tinytrace.testing.strategies import programs_with_arguments

CODE = [(package, f"{name}.{kind}") for package, name in (("linked_texts", "texts"), ("explorer", "page"))
        for kind in ("js", "css")]
PANES = ["python", "jaxpr", "simplified", "kernels", "c", "assembly"]
X = np.ones(5, np.float32)


@pytest.fixture(scope="module", params=PROGRAMS)
def explored(request):
    return page(request.param)


def texts(text):
    """The texts in the page, by the keys of their panes."""
    found = re.findall(r'<pre id="(\w+)"[^>]*>\n(.*?)</pre>', text, re.DOTALL)
    return {key: html.unescape(body) for key, body in found}


def data(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def check_parts(pane):
    around = []
    last = 0
    for begin, end, ids in pane.parts:
        assert last <= begin < end <= len(pane.text)
        assert ids == tuple(sorted(set(ids)))
        assert "\n" not in pane.text[begin:end]
        while around and around[-1] <= begin:
            around.pop()
        assert not around or end <= around[-1]
        around.append(end)
        last = begin


def check_page(explored):
    lowered = explored.lowered
    shown = texts(explored.html)
    assert list(shown) == PANES
    assert shown["jaxpr"] == str(explored.traced.jaxpr)
    assert shown["simplified"] == str(lowered.jaxpr)
    assert shown["c"] == lowered.as_text().rstrip("\n")
    for pane in explored.panes.values():
        check_parts(pane)
    source = lowered.source_map
    c = explored.panes["c"]
    for equation in source.equations:
        lines = {c.numbers[k] for k in c.lines_of(equation.id)}
        assert lines == {place.line for place in source.c_of(equation)}
        if not equation.reason:
            assert explored.panes["kernels"].lines_of(equation.id)
    assert len(data(explored.html)["equations"]) == len(source.equations)


def test_the_page_is_what_the_program_says_of_itself(explored):
    check_page(explored)
    assert len(explored.panes["assembly"].parts) > 10


@examples(60, fast=15)
@given(programs_with_arguments())
def test_pages_of_drawn_programs(case):
    program, arguments = case
    check_page(jax.explore(program.function(), assembly=False)(*arguments))


def test_python_lines_are_those_of_the_source_map(explored):
    pane = explored.panes["python"]
    for equation in explored.lowered.source_map.equations:
        if equation.file == selu.__code__.co_filename:
            lines = {pane.numbers[k] for k in pane.lines_of(equation.id)}
            assert lines == set(range(equation.line, equation.end_line + 1)), equation


def test_expressions_are_marked_in_python():
    pane = page("selu").panes["python"]
    marked = {pane.text[part.begin:part.end] for part in pane.parts}
    assert {"x > 0", "jnp.exp(x)", "alpha * jnp.exp(x)", "alpha * jnp.exp(x) - alpha"} < marked


@pytest.mark.not_quick
def test_sizes_and_no_network():
    assert len(page("step").html.encode()) <= 250_000
    assert len("".join(fixed_part(*place) for place in CODE).encode()) <= 15_000
    for text in (page("selu").html, page("selu")._repr_html_()):
        assert re.findall(r"""(?:src|href)\s*=|url\(|@import|https?:""", text.replace("srcdoc=", "")) == []


def test_a_cell_of_a_notebook_holds_the_page():
    explored = page("selu")
    inside = re.fullmatch(r'<iframe srcdoc="([^"]*)" .*></iframe>', explored._repr_html_(), re.DOTALL)[1]
    assert html.unescape(inside) == explored.html
    assert re.fullmatch(r"<explorer of selu: 7 equations, 1 kernel, \d+ lines of C>", repr(explored))


def test_what_users_write_stays_text(tmp_path):
    hostile = tmp_path / "hostile.py"
    hostile.write_text('import tinytrace.numpy as jnp\n'
                       'def f(x):  # </pre></script><script>alert("\U0001f600")</script>\n'
                       '    y = jnp.sin(x); "\U0001f600"; z = jnp.cos(y)\n    return z\n', "utf-8")
    names = {}
    exec(compile(hostile.read_text("utf-8"), str(hostile), "exec"), names)
    names["f"].__name__ = "</title><script>alert(1)</script>"
    explored = jax.explore(names["f"], assembly=False)(X)
    assert explored.html.count("<script") == 2
    assert "alert" in texts(explored.html)["python"]
    pane, flat = explored.panes["python"], data(explored.html)["panes"]["python"]["parts"]
    units = pane.text.encode("utf-16-le")  # as a script counts
    at, found = 0, set()
    for step, length in zip(flat[::3], flat[1::3], strict=True):
        at += step
        found.add(units[2 * at:2 * (at + length)].decode("utf-16-le"))
    assert {"jnp.sin(x)", "jnp.cos(y)"} < found


def test_source_that_is_gone():
    names = {"jnp": jnp}
    exec("def f(x):\n    return jnp.sin(x)", names)
    assert "its source is not known" in jax.explore(names["f"], assembly=False)(X).panes["python"].text


def test_without_a_disassembler(monkeypatch):
    monkeypatch.setattr(disassembly, "DISASSEMBLER", "no-such-program")
    pane = jax.explore(jnp.sin)(X).panes["assembly"]
    assert pane.text == "No assembly: there is no no-such-program on PATH: install binutils"
    assert pane.parts == ()


def test_instructions_know_the_lines_of_c():
    low = jax.jit(lambda x: jnp.exp(x) * 2).lower(np.ones(1000, np.float32))
    source, lines = low.source_map, low.as_text(full=True).split("\n")
    found = disassembly.disassemble(low.source)
    entry = [instruction for instruction in found if instruction.function == "tt_entry"]
    calling = next(k for k, line in enumerate(lines, 1) if k >= source.first_line and "tt_exp_f32(" in line)
    inlined = [instruction.lines for instruction in entry if len(instruction.lines) > 1]
    assert inlined
    assert calling in {chain[-1] for chain in inlined}
    assert all(line <= len(lines) for instruction in found for line in instruction.lines)


def test_a_chain_of_lines_begins_with_the_innermost_one():
    """What objdump says again, before the next instruction, begins with it or goes on behind it."""
    listing = ["0000 <f>:", "kernel.c:5", "inlined by kernel.c:10", "inlined by kernel.c:20", "  0:\tnop", "  1:\tnop",
               "inlined by kernel.c:12", "  2:\tnop", "kernel.c:7", "  3:\tret", "0004 <g>:", "  4:\tret"]
    assert [(i.function, i.address, i.lines) for i in disassembly._instructions(listing)] == [
        ("f", 0, (5, 10, 20)), ("f", 1, (5, 10, 20)), ("f", 2, (5, 12)), ("f", 3, (7,)), ("g", 4, ())]


def test_what_passes_did():
    @jax.jit
    def inner(x):
        return jnp.sin(x)

    def f(x):
        unused = jnp.cos(x)  # noqa: F841
        return inner(x) + jnp.tan(x) * jax.lax.add(1.0, 1.0)

    explored = jax.explore(f, assembly=False)(X)
    done = {change.name: change for change in explored.changes}
    text = {k: equation.text for k, equation in enumerate(explored.equations)}
    assert ["pjit" in text[k] for k in done["inline"].removed] == [True]
    assert any("add 1.0 1.0" in text[k] for k in done["fold"].removed)
    assert ["cos" in text[k] for k in done["dce"].removed] == [True]
    assert any(line.startswith("-") and "cos" in line for line in done["dce"].lines)
    assert "1 equation removed" in done["dce"].summary()
    assert explored.changes[-1].summary() == "nothing to do"
    assert all(change.meaning for change in explored.changes)


def test_facts():
    def f(x, y):
        return jnp.sin(x) @ y

    explored = jax.explore(f, assembly=False)(np.ones((20, 30), np.float32), np.ones((30, 40), np.float32))
    sine, product = [equation.facts for equation in explored.equations]
    assert sine == ("f32[20,30] -> f32[20,30]", 2 * 20 * 30 * 4, 600, (0,))
    assert product.nbytes == 4 * (600 + 1200 + 800)
    assert product.operations == 2 * 20 * 30 * 40


@pytest.mark.not_quick
def test_measured_times():
    explored = jax.explore(lambda x: jnp.sin(x).sum() + jnp.sort(x)[0], assembly=False, measure=True)(X)
    assert len(explored.times) == len(explored.lowered.kernels) == 3
    assert all(re.fullmatch(r"[\d.]+ [mun]?s, \d+% of the roof", text) for text in explored.times)
    assert explored.times[0] in texts(explored.html)["kernels"]
    assert {equation.time for equation in explored.equations if equation.facts.kernels == (0,)} == {explored.times[0]}


@given(st.text("ab \n", max_size=40), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 3))))
def test_parts_are_cut_into_nested_pieces(text, spans):
    parts = in_lines(text, [Part(min(a, b, len(text)), min(max(a, b), len(text)), (k,)) for a, b, k in spans])
    around = []
    for begin, end, ids in parts:
        assert begin < end
        assert ids
        assert text[begin:end].strip() == text[begin:end]
        while around and around[-1] <= begin:
            around.pop()
        assert not around or end <= around[-1]
        around.append(end)
    first_characters = {(min(a, b), k) for a, b, k in spans if min(a, b) < min(max(a, b), len(text))
                        and not text[min(a, b)].isspace()}
    for begin, k in first_characters:  # nothing that begins with a letter is lost
        assert any(p.begin <= begin < p.end and k in p.equations for p in parts)


# --- the command ---------------------------------------------------------------------------------------------------

def test_the_command_writes_a_page(tmp_path, capsys):
    main(["explore", "tinytrace.nn:selu", "--arg", "f32[8]", "--out", str(tmp_path / "selu.html")])
    assert capsys.readouterr().out.startswith("<explorer of selu: ")
    assert texts((tmp_path / "selu.html").read_text("utf-8"))["jaxpr"].startswith("{ lambda ; a:f32[8]. let")


def test_the_command_takes_a_file(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("class A:\n    @staticmethod\n    def f(x, y):\n        return x + y[0]\n")
    monkeypatch.chdir(tmp_path)
    main(["explore", "mine.py:A.f", "--arg", "f32[8]", "--arg", "[1, 2]"])
    assert (tmp_path / "A.f.html").exists()


@pytest.mark.parametrize("words", [["nothing"], ["tinytrace.nn:no_such"], ["no_such_module:f"], ["nowhere.py:f"],
                                   ["tinytrace.nn:selu", "--arg", "f32[8"]])
def test_the_command_says_what_is_wrong(words, capsys):
    assert main(["explore", *words]) == 2
    assert words[-1] in capsys.readouterr().err


def test_arguments_of_the_command():
    assert argument("bf16[2,3]").dtype == jnp.bfloat16
    assert argument("[1, 2]") == [1, 2]
