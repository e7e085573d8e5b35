"""`jax.profiler`: traces of what runs, annotations, and arrays in memory as a profile."""

import gzip
import json
import sys
import threading
import urllib.request

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import profiler
from tinytrace.api.jit import JitFunction
from tinytrace.api.live import live_arrays
from tinytrace.config import trace_context

X = np.float32([3, 1, 2])


def events_of(folder, name="*.trace.json.gz"):
    [path] = [path for path in folder.glob(f"plugins/profile/*/{name}") if not path.name.startswith("perfetto")]
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def test_calls_are_measured_kernel_by_kernel_and_compute_the_same(tmp_path):
    def body(x, y):
        jax.debug.callback(seen.append, x[0])
        return jnp.sort(x) + y, jnp.cumsum(x)

    seen = []
    wanted = jax.jit(body)(X, 1.0)
    donating = jax.jit(body, donate_argnums=0)
    given = jnp.array(X)
    with profiler.trace(tmp_path):
        with profiler.StepTraceAnnotation("train", step_num=7):
            got = [jax.jit(body)(X, 1.0), donating(given, 1.0)]
        worker = threading.Thread(target=jax.jit(body), args=(X, 1.0), name="worker")
        worker.start()
        worker.join()
    for result in got:
        assert [x.tolist() for x in result] == [x.tolist() for x in wanted]
    assert given.is_deleted()
    assert len(seen) == 4
    events = events_of(tmp_path)
    calls = [event for event in events if event.get("cat") == "call"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert [call["name"] for call in calls] == ["body"] * 3
    assert len({call["tid"] for call in calls}) == 2
    assert {"MainThread", "worker"} <= {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert len(kernels) % 3 == 0
    assert any("sort" in text for kernel in kernels for text in kernel["args"]["equations"])
    for kernel in kernels:  # each lies in the span of its call
        assert any(call["tid"] == kernel["tid"] and call["ts"] <= kernel["ts"] <= call["ts"] + call["dur"]
                   for call in calls)
    [step] = [event for event in events if event.get("cat") == "annotation"]
    assert (step["name"], step["args"]["step_num"]) == ("train", 7)


def test_nothing_is_left_behind(tmp_path):
    f = jax.jit(lambda x: x + 1)
    f(X)
    with pytest.raises(TypeError, match="incompatible shapes"), profiler.trace(tmp_path):
        jax.jit(jnp.add)(X, np.ones(2))
    assert JitFunction.observer is None
    assert sys.modules[trace_context.__module__]._watchers == 0  # calls are answered without Python again
    assert f(X).tolist() == [4, 2, 3]
    assert f._cache_size() == 1
    assert not profiler.TraceAnnotation.is_enabled()


def test_only_one_trace_at_a_time(tmp_path):
    with profiler.trace(tmp_path), pytest.raises(RuntimeError, match=r"^Profile has already been started"):
        profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match=r"^No profile started$"):
        profiler.stop_trace()


def test_annotated_functions(tmp_path):
    @profiler.annotate_function
    def shout(x):
        return x.upper()

    assert shout("a") == "A"
    with profiler.trace(tmp_path):
        assert shout("b") == "B"
        with profiler.TraceAnnotation("outer") as span:
            span.set_metadata(rows=3, what=object)
    [first, second] = [event for event in events_of(tmp_path) if event.get("cat") == "annotation"]
    assert first["name"].endswith("shout")
    assert second["args"] == {"rows": 3, "what": "<class 'object'>"}


def test_perfetto_takes_the_trace_from_an_address(tmp_path, monkeypatch):
    taken, browsers = [], []

    def take(address):
        with urllib.request.urlopen(address) as answer:
            taken.append(json.loads(gzip.decompress(answer.read())))

    def browse(text):
        browsers.append(threading.Thread(target=take, args=(text.partition("?url=")[2],)))
        browsers[0].start()

    monkeypatch.setattr(profiler, "PORT", 0)  # any that is free
    monkeypatch.setattr(profiler, "print", browse, raising=False)
    profiler.start_trace(tmp_path, create_perfetto_link=True)
    profiler.stop_trace()
    browsers[0].join()
    assert taken[0]["traceEvents"]


def test_arrays_in_memory(tmp_path):
    mine = [jnp.zeros((7, 11)) + k for k in range(3)]
    found = [x for x in live_arrays() if x.shape == (7, 11)]
    assert {id(x) for x in mine} <= {id(x) for x in found}
    mine[0].delete()
    assert all(x is not mine[0] for x in live_arrays("cpu"))
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    fields = parsed(gzip.decompress((tmp_path / "memory.prof").read_bytes()))
    strings = [value.decode() for number, value in fields if number == 6]
    assert strings[:5] == ["", "allocations", "count", "space", "bytes"]
    place = 1 + strings[5:].index(mine[1].aval.str_short())
    [values] = [dict(parsed(value))[2] for number, value in fields if number == 2
                and dict(parsed(value))[1] == bytes([place])]
    assert [*varints(values)][1] == next(varints(values)) * 7 * 11 * 4
    with pytest.raises(RuntimeError, match="Unknown backend: 'gpu'"):
        live_arrays("gpu")


def varints(data):
    """Read the integers of a packed field."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def parsed(data):
    """Read a message of protobuf's: pairs of the number of a field and its value."""
    fields, at = [], 0

    def number():
        nonlocal at
        begun = at
        while data[at] > 127:
            at += 1
        at += 1
        return next(varints(data[begun:at]))

    while at < len(data):
        key = number()
        length = number()
        if key & 7 == 2:
            fields.append((key >> 3, data[at:at + length]))
            at += length
        else:
            fields.append((key >> 3, length))
    return fields


def test_servers_are_refused():
    with pytest.raises(NotImplementedError, match="no server that TensorBoard could ask"):
        profiler.start_server(9999)
    with pytest.raises(ValueError, match=r"^No active profiler server"):
        profiler.stop_server()
