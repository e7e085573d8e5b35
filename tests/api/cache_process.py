"""A process with functions and a store, for `test_cache_model`: one is the test's own, another one takes requests.

What the compiler makes of a text is kept in a file beside the stores, so that thousands of steps need few compilations.
"""
import contextlib
import hashlib
import json
import os
import sys
import warnings
from unittest import mock

import numpy as np

import tinytrace as jax
from tinytrace.api.static_state import StaleStaticWarning
from tinytrace.config import config
from tinytrace.runtime import ladder

BOUND = 3
"""How many kinds of calls a function remembers."""


class Holder:
    """A static value that can change."""

    def __init__(self, n):
        self.n = n


class Process:
    """Two functions and a store of their own; `call` says where an answer came from, and what `why` said before."""

    def __init__(self, store, folder):
        self.before = config.values
        config.update("cache_dir", store)
        jax.clear_caches()
        self.functions = [jax.jit(lambda x, n: x * n, static_argnums=1),
                          jax.jit(lambda x, n: x * n + 1, static_argnums=1)]
        for function in self.functions:
            function._cache.calls = function._cache.table_of_calls(BOUND)
        self.by_holder = jax.jit(lambda x, holder: x * holder.n - 3, static_argnums=1)
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(mock.patch.object(ladder._Search, "_build", remembering(folder)))

    def end(self):
        self.stack.close()
        for name, value in self.before.items():
            config.update(name, value)
        jax.clear_caches()

    def call(self, function, size, n):
        f, x = self.functions[function], np.ones(size, np.float32)
        why = f.why(x, n)
        said = "hit" if why.hit else why.cost.source
        misses, stats = f._cache.missed, ladder.stats
        before = stats.compiles, stats.disk_hits
        value = np.asarray(f(x, n)).tolist()
        compiled, found = stats.compiles - before[0], stats.disk_hits - before[1]
        origin = "compiler" if compiled else "disk" if found else "memory" if f._cache.missed > misses else "hit"
        return origin, said, value

    def call_with(self, holder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StaleStaticWarning)
            return np.asarray(self.by_holder(np.ones(1, np.float32), holder)).tolist()


def remembering(folder):
    build = ladder._Search._build

    def remembered(self, compiler, place, turn):
        path = os.path.join(folder, hashlib.sha256(self.source.text.encode()).hexdigest())
        if not os.path.exists(path):
            library = build(self, compiler, place, turn)
            with open(f"{path}.{os.getpid()}", "wb") as file:
                file.write(library)
            os.rename(file.name, path)
        with open(path, "rb") as file:
            return file.read()

    return remembered


def main(folder):
    process = None
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        result = None
        if name == "begin":
            if process is not None:
                process.end()
            process = Process(*arguments, folder)
        elif name == "clear":
            jax.clear_caches()
        else:
            result = process.call(*arguments)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
