"""The script that runs the cells of documents: reading, rules, running and comparing, on a document of our own."""

import json
import sys

import pytest

from tests.documents import cells, measure

DOCUMENT = """# Title

```{code-cell} ipython3
:tags: [raises-exception]

import jax
x = jax.numpy.arange(3.0)
x.reshape(2)
```

```{code-cell}
import matplotlib.pyplot as plt
y = 2 * x
```

```{code-cell}
print(y);
jax.jit(lambda v: v + 1)(y)
```

```{code-cell}
%timeit jax.numpy.sin(x)
```

```{code-cell}
y.sum();
```
"""


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "document.md"
    path.write_text(DOCUMENT)
    return path


def test_fenced_cells(document):
    found = cells.read_cells(document)
    assert [cell.excluded for cell in found] == ["", "plots", "", "timing", ""]
    assert found[0].source.startswith("import jax\n")
    assert cells.names_bound(found[1].source) == {"plt", "y"}
    assert cells.plain(found[3].source) == "jax.numpy.sin(x)\n"


def test_prompts(tmp_path):
    path = tmp_path / "prose.rst"
    path.write_text("Say::\n\n  >>> def f(x):\n  ...   return x\n\n  >>> f(1)\n  1\n")
    assert [cell.source for cell in cells.read_cells(path)] == [cells.SCENE, "def f(x):\n  return x\n", "f(1)\n"]


@pytest.mark.parametrize(("source", "rule"), [
    ("jax.devices('gpu')", "devices"), ("open('x').read()", "files"), ("import torch", "other packages"),
    ("!pip install x", "shell"), ("# plt.plot", ""), ("from jax import numpy", ""),
])
def test_rules(source, rule):
    assert cells.exclusion(source) == rule


def test_debuggers_are_not_started():
    cell = cells.Cell(1, "def f(x):\n  breakpoint()\n", "debugger")
    assert cells.runnable(cell) == "f = None; del f"


@pytest.mark.slow
def test_cells_run_in_order(document):
    sources = json.dumps([(cells.runnable(cell), not cell.excluded) for cell in cells.read_cells(document)])
    shown = measure.run_cells(sys.executable, "tinytrace", sources)
    assert shown[0].startswith("! TypeError: cannot reshape array of shape (3,)")
    assert shown[2] == "[0. 2. 4.]\nArray([1., 3., 5.], dtype=float32)"
    assert shown[4] == ""


@pytest.mark.parametrize(("a", "b", "verdict"), [
    ("x = 1.0", "x = 1.0", "same"), ("[1.0000001 2.]", "[1. 2.]", "rounding"), ("[1.01 2.]", "[1. 2.]", "differs"),
    ("1 row", "2 row", "differs"), ("1.0 a", "1.0 b", "differs"),
    ("! NameError: name 'y' is not defined", "", "excluded"), ("1", "! NameError: name 'y' is not defined", "differs"),
])
def test_verdicts(a, b, verdict):
    assert measure.judge(cells.Cell(1, "", ""), a, b)[0] == verdict
