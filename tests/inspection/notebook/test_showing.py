"""What a notebook shows: the value's own text, in few bytes, without a script, the same each time."""
import html.parser
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
from tests.examples import examples
from tests.inspection.notebook.examples import values
from tinytrace.inspection.notebook.page_part import FIXED, PER_CHARACTER, Text, page_part
from tinytrace.testing.strategies import programs_with_arguments

VOID = {"br", "hr", "img", "input", "meta", "link"}


class Reader(html.parser.HTMLParser):
    """Reads HTML: the text of its `<code>` elements, the names of all elements, and whether each is closed."""

    def __init__(self, text):
        super().__init__()
        self.code, self.open, self.elements = "", [], set()
        self.attributes = set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "code" in self.open:
            self.code += data


def check(value):
    """The laws of what a notebook shows, for one value."""
    shown, text = value._repr_html_(), str(value)
    reader = Reader(shown)
    assert reader.code == text
    assert len(shown.encode()) <= FIXED + PER_CHARACTER * len(text)
    assert not reader.elements & {"script", "iframe", "img", "link", "object", "svg"}
    assert not {name for name in reader.attributes if name.startswith("on") or name in ("src", "href", "id")}
    assert "url(" not in shown
    assert shown == value._repr_html_()
    assert value._repr_mimebundle_()["text/html"] == shown
    return shown


@examples(100, fast=25)
@given(programs_with_arguments())
def test_drawn_programs(case):
    program, arguments = case
    traced = jax.jit(program.function()).trace(*arguments)
    lowered = traced.lower()
    for value in (traced.jaxpr, traced.jaxpr.jaxpr, traced, lowered, lowered.jaxpr, lowered.kernels, lowered.source,
                  *traced.jaxpr.eqns[:3]):
        check(value)
    assert traced.jaxpr._repr_mimebundle_()["text/plain"] == str(traced.jaxpr)


@pytest.fixture(scope="module", name="examples")
def examples_of_each():
    return values()


@pytest.mark.not_quick
@pytest.mark.parametrize("name", ["function", "jaxpr", "closed", "equation", "traced", "lowered", "kernels", "source",
                                  "compiled", "stages", "rules", "empty", "no_code"])
def test_laws(name, examples):
    check(examples[name])


def test_what_is_told_of_a_jitted_function(examples):
    shown = examples["function"]._repr_html_()
    for line in ("jitted: f(x, flag=True)", "static arguments: flag", "entries: 3"):
        assert f"<div>{line}</div>" in shown
    for key in examples["function"].cache:
        assert f"<div>entry: {key}</div>" in shown


def test_a_lowered_program_begins_with_itself(examples):
    shown = examples["lowered"]._repr_html_()
    first = re.search(r"<code>(.*?)</code>", shown, re.DOTALL)[1]
    assert re.sub("<[^>]*>", "", first).startswith("int32_t tt_entry(")
    assert "jaxpr, simplified: " in shown
    assert "kernels: 1" in shown
    assert examples["lowered"]._repr_mimebundle_()["text/plain"] == examples["lowered"].as_text()


def test_equations_are_linked(examples):
    """An equation has its number first, then those of the equations that it reads."""
    shown = examples["closed"]._repr_html_()
    spans = dict(re.findall(r'<span data-e="(\d+ [\d ]*)">(\w+)', shown))
    assert spans["0 "] == "b"
    assert spans["1 0 "] == "c"
    assert '.tinytrace:has([data-e^="0 "]:hover) [data-e~="0"]' in shown


def test_the_forms_get_poorer_when_there_is_no_room():
    lines = [f"v{k}:f32[5] = sin v{k - 1}" for k in range(1, 1000)]
    text = "\n".join(lines)
    links, at = [], 0
    for k, line in enumerate(lines):
        links.append((at, at + len(line), (k,)))
        at += len(line) + 1
    few = page_part(text[:50], [Text("t", text[:50], "jaxpr", links[:2])])
    many = page_part(text, [Text("t", text, "jaxpr", links)])
    assert "data-e" in few
    assert "data-e" not in many
    assert "<i>" in many
    assert len(many) <= FIXED + PER_CHARACTER * len(text)


@given(st.text(max_size=200), st.sampled_from(["jaxpr", "c", "kernels", "text"]),
       st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200), st.integers(0, 5))))
def test_any_text_with_any_links(text, language, spans):
    links = [(min(a, b, len(text)), min(max(a, b), len(text)), (k,)) for a, b, k in spans if a != b]
    reader = Reader(page_part(text, [Text("<&\">", text, language, links)], [("<b>", "</style>")]))
    assert reader.code.replace("\r\n", "\n").replace("\r", "\n") == text.replace("\r\n", "\n").replace("\r", "\n")


def test_forms_can_be_chosen(examples):
    bundle = examples["closed"]._repr_mimebundle_
    assert set(bundle()) == {"text/plain", "text/html"}
    assert set(bundle(include={"text/plain"})) == {"text/plain"}
    assert set(bundle(exclude=["text/plain"])) == {"text/html"}
    assert set(examples["source"]._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_repr_is_short(examples):
    assert repr(examples["source"]).startswith("<C of tt_entry: 1 inputs, 1 outputs, ")
    assert repr(examples["kernels"]) == str(examples["kernels"])
