"""The graph of a jaxpr: every box is below what it reads, arrows end where boxes are, three texts of one graph."""
import re
import xml.etree.ElementTree as ET

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax


def f(x):
    h, hs = lax.scan(lambda c, a: (jnp.tanh(c + a), c * 2), x[0], x)
    small = lax.cond(h > 2, jnp.sin, jnp.cos, h)
    return small, hs, 1.0


GRAPH = jax.make_jaxpr(f)(jnp.ones(3)).graph()


def test_boxes_and_arrows_are_those_of_the_jaxpr():
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) * x + 2)(1.0)
    graph = closed.graph()
    assert [(node.kind, node.label) for node in graph.nodes] == [
        ("input", "x: f32[]"), ("equation", "sin\na: f32[]"), ("equation", "mul\nb: f32[]"),
        ("equation", "add 2.0\nc: f32[]"), ("output", "c: f32[]")]
    assert [(edge.source, edge.target, edge.label) for edge in graph.edges] == [
        ("i0", "e0", "x"), ("e0", "e1", "a"), ("i0", "e1", "x"), ("e1", "e2", "b"), ("e2", "o0", "c")]
    assert repr(graph) == "<graph of a jaxpr: 5 boxes, 5 arrows>"


def test_programs_inside_are_graphs_inside_a_box():
    scan, cond = [node for node in GRAPH.nodes if node.inner]
    assert [name for name, _ in scan.inner] == ["jaxpr"]
    assert [name for name, _ in cond.inner] == ["branches[0]", "branches[1]"]
    assert [node.key for node in scan.inner[0][1].nodes if node.kind == "equation"] == ["e2_0_e0", "e2_0_e1", "e2_0_e2"]
    assert "small: f32[]" in cond.label
    assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in cond.title


def test_the_picture_is_sound_and_each_box_stands_below_what_it_reads():
    root = ET.fromstring(GRAPH.to_svg())
    space = "{http://www.w3.org/2000/svg}"
    top = {group.get("id"): float(group.find(f"{space}rect").get("y")) for group in root.iter(f"{space}g")}
    assert all(top[edge.source] < top[edge.target] for edge in GRAPH.edges)
    assert len({(rect.get("x"), rect.get("y")) for rect in root.iter(f"{space}rect")}) == len(top)
    assert "script" not in GRAPH.to_svg()
    assert GRAPH._repr_svg_() == GRAPH.to_svg()


def test_dot_and_mermaid_name_every_box_and_arrow():
    for text, arrow in ((GRAPH.to_dot(), r"(\w+) -> (\w+)"), (GRAPH.to_mermaid(), r'(\w+) -->\|"[^"]*"\| (\w+)')):
        assert {(edge.source, edge.target) for edge in GRAPH.edges} <= set(re.findall(arrow, text))
        assert "e2_0_e1" in text
    assert GRAPH.to_dot().count("{") == GRAPH.to_dot().count("}")
    assert str(GRAPH) == GRAPH.to_dot()


def test_text_of_users_is_escaped():
    named = jax.jit(lambda x: x + 1)
    svg = jax.make_jaxpr(lambda x: named(x))(1.0).graph().to_svg()
    assert "pjit &lt;lambda&gt;" in svg
