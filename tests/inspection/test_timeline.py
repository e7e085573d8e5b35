"""The timeline of a notebook: hit, disk or miss under each cell."""
import pytest

import tinytrace as jax

IPython = pytest.importorskip("IPython")
CELLS = ["import tinytrace as jax, tinytrace.numpy as jnp\nx, y = jnp.ones(3), jnp.ones(4)",
         "f = jax.jit(lambda x: x * 2.0625)\nf(x)", "for _ in range(3): f(x)", "f(y)", "1 + 1"]


def test_each_cell_gets_its_line(capsys):
    shell = IPython.core.interactiveshell.InteractiveShell()
    shell.run_line_magic("load_ext", "tinytrace")
    try:
        told = []
        for cell in CELLS:
            capsys.readouterr()
            shell.run_cell(cell)
            told.append([line for line in capsys.readouterr().out.splitlines() if " ms  " in line])
    finally:
        shell.run_line_magic("unload_ext", "tinytrace")
    assert [bool(lines) for lines in told] == [False, True, True, True, False]
    assert told[1][0][:4] in ("MISS", "DISK")
    assert told[2][0].startswith("HIT")
    assert "3 calls" in told[2][0]
    assert "x.shape: (3,) -> (4,)" in told[3][0]
    shown = jax.load_ipython_extension.__globals__["timeline"]
    assert len(shown.cells) == 3
    assert "x.shape" in shown._repr_html_()
    shell.run_cell("f(jnp.ones(5))")
    assert len(shown.cells) == 3  # it has ended
