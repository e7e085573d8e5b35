"""The pages of docs/ that list things list all of them: settings, errors, pages, tools."""

import ast
import pathlib
import re
import runpy

import pytest

from tinytrace import errors
from tinytrace.config import Config

ROOT = pathlib.Path(__file__).parent.parent
DOCS = ROOT / "docs"
docstrings = runpy.run_path(str(DOCS / "docstrings.py"))  # a part of docs/, which is no package
# In Python a variable is the whole of a string, in C the argument of getenv.
IN_PYTHON = re.compile(r"""["']((?:TINYTRACE|JAX|JAX2TF)_[A-Z0-9_]+)["']""")
IN_C = re.compile(r'getenv\("((?:TINYTRACE|JAX)_[A-Z0-9_]+)"\)')


def settings_rows():
    lines = (DOCS / "settings.md").read_text().splitlines()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    return {variable: (setting, default) for variable, setting, default, _ in rows}


def test_every_variable_of_the_environment_is_in_the_settings_table():
    read = {name for path in [*ROOT.glob("tinytrace/**/*.py"), ROOT / "setup.py"]
            for name in IN_PYTHON.findall(path.read_text())}
    read |= {name for path in ROOT.glob("csrc/**/*.[ch]") for name in IN_C.findall(path.read_text())}
    assert len(read) >= 12
    assert read | {"CC"} == settings_rows().keys()


def test_every_setting_is_in_the_settings_table():
    assert {setting for setting, _ in settings_rows().values() if setting} == set(Config.__annotations__)


def test_every_error_with_an_address_has_its_section():
    page = (DOCS / "errors.md").read_text()
    named = {name for name, value in vars(errors).items() if isinstance(value, type)
             and issubclass(value, errors._HelpPageError) and not name.startswith(("_", "JAX"))}
    assert len(named) >= 7
    assert set(re.findall(r'<a id="jax\.errors\.(\w+)"></a>', page)) == named
    assert set(re.findall(r"autoexception:: tinytrace\.errors\.(\w+)", page)) == named


def addresses_in_messages():
    """Those in strings that are no docstrings: (file, address)."""
    for path in sorted((ROOT / "tinytrace").rglob("*.py")):
        if "http" not in (text := path.read_text()):  # most: to look through a tree takes 10 ms
            continue
        nodes = list(ast.walk(ast.parse(text)))
        apart = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
                for address in re.findall(r"https?://[^\s\"'`<>]*", node.value):
                    yield path.name, address.rstrip(".,!")


@pytest.mark.slow
def test_every_address_in_a_message_is_on_the_page_of_errors():
    page = (DOCS / "errors.md").read_text()
    others = {"http://www.w3.org/2000/svg", "https://numpy.org/doc/stable/reference/generated/numpy.{}.html",
              "https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers",  # a name; parts of docstrings
              "http://127.0.0.1:", "https://ui.perfetto.dev/#!/?url="}  # where a browser finds a trace
    found = {address for _, address in addresses_in_messages()} - others
    assert len(found) >= 7
    sections = "https://jax.readthedocs.io/en/latest/errors.html#jax.errors"
    assert [address for address in sorted(found - {sections}) if f"<{address}>" not in page] == []


def test_every_page_is_in_the_index_once():
    trees = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    files = [*DOCS.glob("*.md"), *DOCS.glob("howto/*.md"), *DOCS.glob("stages/*.md")]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in files}
    assert len(listed) == len(set(listed))
    assert set(listed) == (pages - {"index"}) | {"tutorials/*", "reference/index", "made/layers", "made/names",
                                                 "made/missing"}


@pytest.mark.parametrize(("docstring", "expected"), [
    ("The sum of `x` over *axes, see x_y.", "The sum of \\ ``x``\\  over \\*axes, see x\\_y."),
    ("The `jvp`s\nof all.", "The \\ ``jvp``\\ s of all."),
    (">>> f(1)\n2", ".. code-block:: pycon\n\n   >>> f(1)\n   2"),
    ("Args:\n  x: an array", ".. code-block:: text\n\n   Args:\n     x: an array"),
])  # fmt: skip
def test_docstrings_become_restructured_text(docstring, expected):
    assert docstrings["restructured"](docstring) == expected
