"""`jax.profiler`: a trace of what runs between two moments, kernel by kernel, for Perfetto and TensorBoard.

    with jax.profiler.trace("profile"):
        step(x)

writes `profile/plugins/profile/<time>/<host>.trace.json.gz`: for each call of a jitted function a span, in it one for
each of its kernels with equations, bytes and operations, beside them what was traced and compiled, and the spans of
`TraceAnnotation`. Open it at https://ui.perfetto.dev. To measure one function well, see `tinytrace.profile`.

Source: `jax.profiler` of JAX 0.4.35 (https://docs.jax.dev/en/latest/jax.profiler.html).
"""
from __future__ import annotations

import functools
import gzip
import http.server
import json
import os
import pathlib
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from tinytrace.api.live import live_arrays
from tinytrace.inspection.memory_profile import as_pprof
from tinytrace.inspection.session import Session
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)

PORT = 9001
"""The port of this machine where Perfetto may look for a trace."""


class _Running:
    """The session that is being recorded, if there is one, and what is to be done at its end."""

    lock = threading.Lock()
    session: Session | None = None
    folder = pathlib.Path()
    options = (False, False)


def start_trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False,
                create_perfetto_trace: bool = False) -> None:
    """Begin to record; `stop_trace` writes it below the folder `log_dir`.

    While it is recorded, jitted functions run in a form that looks at the clock between its kernels: the first call of
    each compiles that. Un-jitted operations are not shown.

    Args:
      create_perfetto_link: at the end, print an address, and wait until Perfetto has taken the trace from there.
      create_perfetto_trace: write the file `perfetto_trace.json.gz` too.

    Raises: RuntimeError when a trace is being recorded.
    """
    with _Running.lock:
        if _Running.session is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
        _Running.folder = pathlib.Path(log_dir)
        _Running.options = create_perfetto_link, create_perfetto_trace
        _Running.session = Session()
        _Running.session.begin()


def stop_trace() -> None:
    """End the recording, and write it; raises RuntimeError when nothing is recorded."""
    with _Running.lock:
        session = _Running.session
        if session is None:
            raise RuntimeError("No profile started")
        _Running.session = None
        session.end()
    text = json.dumps(session.chrome_trace()).encode()
    folder = _Running.folder / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / f"{platform.node() or 'localhost'}.trace.json.gz", text)
    link, perfetto = _Running.options
    if link or perfetto:
        _write(folder / "perfetto_trace.json.gz", text)
    if link:
        _serve_once(folder, "perfetto_trace.json.gz")


@contextmanager
def trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False,
          create_perfetto_trace: bool = False) -> Iterator[None]:
    """Record what runs inside the block: `start_trace` and `stop_trace`.

    >>> import tempfile, tinytrace as jax
    >>> double = jax.jit(lambda x: 2 * x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with trace(folder):
    ...         y = double(3.0)
    ...     len(list(pathlib.Path(folder).glob("plugins/profile/*/*.trace.json.gz")))
    1
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace)
    try:
        yield
    finally:
        stop_trace()


def _write(path: pathlib.Path, text: bytes) -> None:
    with gzip.open(path, "wb") as file:
        file.write(text)


def _serve_once(folder: pathlib.Path, name: str) -> None:
    """Offer a file where Perfetto looks for it, until it has been taken."""
    taken = threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(folder))

        def end_headers(self) -> None:
            self.send_header("Access-Control-Allow-Origin", "*")
            super().end_headers()

        def do_GET(self) -> None:
            super().do_GET()
            if self.path == f"/{name}":
                taken.set()

    with http.server.HTTPServer(("127.0.0.1", PORT), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/{name}"
        print(f"Open URL in browser: https://ui.perfetto.dev/#!/?url={address}")
        while not taken.is_set():
            server.handle_request()


# --- annotations -----------------------------------------------------------------------------------------------

class TraceAnnotation:
    """A context whose time is a span of the trace, with `details`; it costs next to nothing while none is recorded.

    >>> with TraceAnnotation("load the data", rows=10):
    ...     pass
    """

    def __init__(self, name: str, **details: Any) -> None:
        self.name, self.details = name, details
        self._begun: int | None = None

    def set_metadata(self, **details: Any) -> None:
        """Add details."""
        self.details.update(details)

    @staticmethod
    def is_enabled() -> bool:
        """Is a trace being recorded?"""
        return _Running.session is not None

    def __enter__(self) -> TraceAnnotation:
        self._begun = time.monotonic_ns() if _Running.session is not None else None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        session = _Running.session
        if session is not None and self._begun is not None:
            session.add("annotation", self.name, self._begun, time.monotonic_ns(), self.details)


class StepTraceAnnotation(TraceAnnotation):
    """The same for one step of a loop: `StepTraceAnnotation("train", step_num=3)`."""

    def __init__(self, name: str, **details: Any) -> None:
        super().__init__(name, _r=1, **details)


def annotate_function(func: Callable[..., Any], name: str | None = None, **details: Any) -> Callable[..., Any]:
    """Return `func` as a function whose calls are spans of the trace.

    >>> annotate_function(max, name="largest")(1, 2)
    2
    """
    title = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(title, **details):
            return func(*args, **kwargs)

    return annotated


# --- memory, and what is not here --------------------------------------------------------------------------------

def device_memory_profile(backend: str | None = None) -> bytes:
    """Return the arrays that are alive, as a profile for pprof: how many there are of each type, and their bytes.

    Where they were made is not known.
    """
    return as_pprof(live_arrays(backend))


def save_device_memory_profile(filename: os.PathLike[str] | str, backend: str | None = None) -> None:
    """Write `device_memory_profile()` to a file."""
    pathlib.Path(filename).write_bytes(device_memory_profile(backend))


def start_server(port: int) -> Any:
    """Refused: there is no server of TensorFlow's profiler here. Raises NotImplementedError."""
    raise NotImplementedError("jax.profiler.start_server: tinytrace has no server that TensorBoard could ask; write a "
                              "trace with jax.profiler.start_trace(log_dir) and stop_trace(), and open it")


def stop_server() -> None:
    """Raise ValueError: no server runs."""
    raise ValueError("No active profiler server.")


__all__ = ["StepTraceAnnotation", "TraceAnnotation", "annotate_function", "device_memory_profile",
           "save_device_memory_profile", "start_server", "start_trace", "stop_server", "stop_trace", "trace"]
