"""The profiler times each kernel of the program that runs, counts what it moves, and draws what it measured."""

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api.concrete import as_array
from tinytrace.core.avals import aval_of
from tinytrace.inspection.roofline import Roof, roofline_svg
from tinytrace.inspection.timed_program import TimedProgram

X = jnp.asarray(np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32))
SVG = "{http://www.w3.org/2000/svg}"


def layers(x):
    y = jnp.sort(jnp.tanh(x @ x), axis=0)
    return jnp.cumsum(y, axis=0) @ y


@pytest.fixture(scope="module")
def measured():
    return jax.profile(layers, seconds=0.01)(X)


@pytest.mark.not_quick
def test_each_kernel_is_timed(measured):
    kernels = jax.jit(layers).lower(X).kernels
    assert [k.equations for k in measured.kernels] == [tuple(map(str, kernel.equations)) for kernel in kernels]
    assert len(measured.kernels) > 2
    assert measured.runs >= 3
    for k, kernel in zip(measured.kernels, kernels, strict=True):
        assert 0 <= k.least <= k.median
        assert 0 < k.share <= 1
        assert (k.nbytes, k.flops) == (kernel.bytes_read + kernel.bytes_written, kernel.flops)
    assert (np.diff(measured.instants, axis=1) >= 0).all()


def test_the_timed_program_computes_the_same():
    lowered = jax.jit(layers).lower(X)
    (got,), instants = TimedProgram(lowered._program).run_on([as_array(X, aval_of(X))])
    np.testing.assert_array_equal(got, lowered.compile()(X))
    assert (np.diff(instants) >= 0).all()
    assert "tt_mark" not in lowered.as_text(full=True)


def test_the_table(measured):
    lines = str(measured).splitlines()
    assert lines[0].startswith(f"layers: {len(measured.kernels)} kernels, ")
    assert lines[1].split() == ["min", "median", "of", "all", "bytes", "flop", "of", "the", "roof", "kernel"]
    assert len(lines) == 2 + len(measured.kernels)
    assert all("%" in line for line in lines[2:])


def test_the_plots_are_pictures(measured):
    plot = ET.fromstring(measured.roofline())
    assert len(plot.findall(f"{SVG}circle")) == sum(k.flops > 0 for k in measured.kernels)
    assert plot.find(f"{SVG}title").text.startswith("Roofline")
    chart = ET.fromstring(measured.liveness())
    assert len(chart.findall(f"{SVG}rect")) == len(measured.memory.offsets)
    assert measured._repr_html_().startswith("<pre>layers")


def test_the_chrome_trace(measured, tmp_path):
    measured.save_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [event for event in events if event["ph"] == "X"]
    assert len(kernels) == measured.runs * len(measured.kernels)
    assert all(event["dur"] >= 0 and event["args"]["bytes"] > 0 for event in kernels)


def test_loops_constants_and_programs_without_kernels():
    scale = jnp.arange(64.0)
    looped = jax.profile(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * scale, x), seconds=0.001)(X)
    assert any("repeat 3 times" in k.title for k in looped.kernels)
    nothing = jax.profile(lambda x: x, seconds=0.001)(X)
    assert nothing.kernels == []
    assert str(nothing).startswith("<lambda>: 0 kernels")
    ET.fromstring(nothing.liveness())
    ET.fromstring(nothing.roofline())


def test_static_arguments_and_effects():
    scaled = jax.jit(lambda x, n: x * n, static_argnums=1)
    assert len(jax.profile(scaled, seconds=0.001)(X, 3).kernels) == 1
    with pytest.raises(ValueError, match="has effects each time"):
        jax.profile(lambda x: jax.debug.print("{}", x))(X)


def test_the_roof():
    roof = Roof(((1000, 100.0), (10**6, 10.0)), 200.0)
    assert roof.least(1000, 0) == 10
    assert roof.least(2000, 0) == 200
    assert roof.least(10, 2000) == 10
    assert ET.fromstring(roofline_svg([], roof)) is not None
