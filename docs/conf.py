"""How Sphinx builds the site: `make docs`.

The notebooks of `tutorials/` are copied beside the pages, since Sphinx reads one folder only. Their stored outputs are
shown as they are: `make tutorials` is what executes them and compares. Nothing is loaded from the network.
"""

import pathlib
import shutil
import sys

DOCS = pathlib.Path(__file__).parent
sys.path.insert(0, str(DOCS))  # `docstrings`, an extension, and `making`

from making import make_all  # noqa: E402 (found only now)

project = "tinytrace"
author = "the tinytrace developers"
project_copyright = author
extensions = ["myst_nb", "sphinx.ext.autodoc", "docstrings"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "tinytrace"
html_show_sphinx = False

myst_heading_anchors = 3
nb_execution_mode = "off"
nb_ipywidgets_js = {}

highlight_options = {"python": {"stripnl": True}}  # the empty line that ends a tested example is not shown
default_role = "literal"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures as NumPy's pages show them


def copy_notebooks() -> None:
    """Copy each notebook whose text has changed to `docs/tutorials`; those that are gone go there too."""
    folder = DOCS / "tutorials"
    folder.mkdir(exist_ok=True)
    sources = {path.name: path for path in (DOCS.parent / "tutorials").glob("*.ipynb")}
    for old in folder.glob("*.ipynb"):
        if old.name not in sources:
            old.unlink()
    for name, path in sources.items():
        copy = folder / name
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            shutil.copy(path, copy)


copy_notebooks()
make_all()
