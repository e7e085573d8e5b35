"""The layers of the package hold: no import upwards, none inside a function, no two modules that import each other.

Read with the stdlib `ast`, so that nothing is imported to find out. Imports under `if TYPE_CHECKING:` count: they close
no circle and do not point upwards either. They have one purpose, that `import tinytrace` does not wait for a module of
which it needs only types; whatever it loads anyway is imported plainly.

The C of csrc/ is held to the same: a file X.c offers what its header X.h declares, and no two files need each other.
"""

from __future__ import annotations

import ast
import functools
import gc
import pathlib
import re
from typing import NamedTuple

import pytest

from tinytrace.layers import LAYERS, layers_text

ROOT = pathlib.Path(__file__).parent.parent
COMPILED = {"tinytrace._runtime", "tinytrace._dispatch"}
RANK = {name: rank for rank, (names, _) in enumerate(LAYERS) for name in names.split()}


class Import(NamedTuple):
    """`importer` imports the module `imported` in `line`."""

    importer: str
    imported: str
    line: int
    in_function: bool
    for_types: bool


def module_names(package: pathlib.Path) -> dict[str, pathlib.Path]:
    """Dotted name -> file, for every module of a package."""
    files = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


@functools.cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def read_imports(package: pathlib.Path) -> list[Import]:
    """Every import of a module of the package by a module of the package."""
    modules = module_names(package)
    found = []
    for name, path in modules.items():
        is_package = path.name == "__init__.py"
        for node, in_function, for_types in walk_imports(parsed(path.read_text()), False, False):
            for target in imported_modules(node, name, is_package, modules):
                if target.split(".")[0] == package.name:
                    found.append(Import(name, target, node.lineno, in_function, for_types))
    return found


def walk_imports(node: ast.AST, in_function: bool, for_types: bool):
    """Yields the import statements below `node` with where they stand."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # no statement stands in an expression
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, in_function, for_types
        inside = in_function or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        typing = for_types or (isinstance(child, ast.If) and "TYPE_CHECKING" in names_in(child.test))
        yield from walk_imports(child, inside, typing)


def names_in(node: ast.expr) -> set[str]:
    return {part.attr if isinstance(part, ast.Attribute) else part.id for part in ast.walk(node)
            if isinstance(part, (ast.Attribute, ast.Name))}


def statements(node: ast.AST):
    """Yields what stands below `node`, without expressions: there is no statement in one."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from statements(child)


def imported_modules(node: ast.Import | ast.ImportFrom, importer: str, is_package: bool, modules) -> list[str]:
    """The dotted names of the modules that an import statement loads."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parts = importer.split(".")
        keep = len(parts) - node.level + is_package
        base = ".".join([*parts[:keep], *([node.module] if node.module else [])])
    submodules = [f"{base}.{alias.name}" for alias in node.names]
    return [name if name in modules or name in COMPILED else base for name in submodules]


def rank(module: str) -> int:
    """The layer of a module; the package itself and modules at its top that no layer names are what users type."""
    return RANK.get([*module.split("."), "tinytrace"][1], RANK["tinytrace"])


def upward(imports: list[Import]) -> list[str]:
    return [
        f"{i.importer}:{i.line} imports {i.imported}: from layer {rank(i.importer)} up to {rank(i.imported)}"
        for i in imports
        if rank(i.imported) > rank(i.importer)
    ]


def inside_functions(imports: list[Import]) -> list[str]:
    return [f"{i.importer}:{i.line} imports {i.imported} inside a function" for i in imports if i.in_function]


def cycles(imports: list[Import]) -> list[str]:
    """The circles of modules that import each other, for types alone included."""
    graph: dict[str, set[str]] = {}
    for i in imports:
        if i.imported != i.importer:
            graph.setdefault(i.importer, set()).add(i.imported)
    return circles(graph)


def circles(graph: dict[str, set[str]]) -> list[str]:
    found: list[str] = []
    finished: set[str] = set()

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            found.append(" -> ".join([*path[path.index(module) :], module]))
        elif module not in finished:
            for imported in sorted(graph.get(module, ())):
                visit(imported, [*path, module])
            finished.add(module)

    for module in sorted(graph):
        visit(module, [])
    return found


def loaded_by(module: str, imports: list[Import]) -> set[str]:
    """The modules that are loaded when a module is: it, what it imports, and the packages around them."""
    plain: dict[str, list[str]] = {}
    for i in imports:
        if not i.for_types:
            plain.setdefault(i.importer, []).append(i.imported)
    found: set[str] = set()
    stack = [module]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += [*plain.get(name, ()), *([name.rpartition(".")[0]] if "." in name else [])]
    return found


def needless(imports: list[Import]) -> list[str]:
    """Imports for types alone of what `import tinytrace` loads anyway."""
    loaded = loaded_by("tinytrace", imports)
    return [f"{i.importer}:{i.line} imports {i.imported}: no need to hide it" for i in imports
            if i.for_types and i.imported in loaded]


@pytest.fixture(scope="module")
def imports():
    gc.disable()  # to look for garbage among the trees again and again takes three times as long as to read them
    try:
        return read_imports(ROOT / "tinytrace")
    finally:
        gc.enable()


def test_every_package_has_a_layer():
    packages = {path.parent.name for path in (ROOT / "tinytrace").glob("*/*.py")}
    assert sorted(packages - set(RANK)) == [], "name these in tinytrace/layers.py"


def test_no_import_upwards(imports):
    assert upward(imports) == []


def test_no_import_inside_a_function(imports):
    assert inside_functions(imports) == []


def test_no_cycles(imports):
    assert cycles(imports) == []


def test_imports_for_types_spare_the_import_of_a_module(imports):
    assert needless(imports) == []


LISTS_OF_NAMES = {"numpy/__init__.py"}
"""The files that may have more than 400 lines."""


def test_classes_of_values_are_made_by_records():
    """The standard library's take 20 times as long to make, and a first call waits for a hundred of them."""
    ours = {"dataclass", "replace", "NamedTuple", "namedtuple"}
    others = {
        str(path.relative_to(ROOT / "tinytrace"))
        for path in (ROOT / "tinytrace").rglob("*.py")
        for node in ast.walk(parsed(path.read_text()))
        if (isinstance(node, ast.ImportFrom) and node.module in ("dataclasses", "typing", "collections")
            and ours & {alias.name for alias in node.names})
        or (isinstance(node, ast.Attribute) and node.attr in ours and ast.unparse(node.value) == "dataclasses")
    }
    assert others == {"records.py"}, "import dataclass, replace and NamedTuple from tinytrace.records"


def test_files_and_functions_are_short():
    lines = {}
    for path in (ROOT / "tinytrace").rglob("*.py"):
        text, name = path.read_text(), str(path.relative_to(ROOT / "tinytrace"))
        lines[name] = len(text.splitlines())
        for node in statements(parsed(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < 60, f"{name}: {node.name} is longer than a screen"
    assert {name for name, count in lines.items() if count > 400} == LISTS_OF_NAMES, "split files by meaning"


# --- csrc/ -------------------------------------------------------------------------------------------------------

CSRC = {str(path.relative_to(ROOT / "csrc")): path.read_text() for path in (ROOT / "csrc").rglob("*.[chi]*")}
INCLUDED = re.compile(r'^#include "([\w./]+)"', re.MULTILINE)


def c_functions(text: str) -> list[tuple[str, bool, int]]:
    """The functions that a C text defines: name, whether it is static, how many lines it has.

    ALWAYS_INLINE begins with `static` (csrc/vectors.h).
    """
    found, head = [], None
    for number, line in enumerate(text.splitlines()):
        if line.endswith("{") and not line.startswith((" ", "}", "struct", "enum", "typedef", "union")) and "(" in line:
            head = number, line
        if head and line == "}":
            words = re.sub(r"__attribute__\(\(.*?\)\)", "", head[1])
            found.append((re.findall(r"(\w+)\(", words)[0], not {"static", "ALWAYS_INLINE"}.isdisjoint(words.split()),
                          number - head[0] + 1))
            head = None
    return found


def c_needs(texts: dict[str, str]) -> dict[str, set[str]]:
    """Which file, header and C together, includes headers of which others."""
    graph: dict[str, set[str]] = {}
    for name, text in texts.items():
        own = name.rpartition(".")[0]
        graph.setdefault(own, set()).update({other.rpartition(".")[0] for other in INCLUDED.findall(text)} - {own})
    return graph


def undeclared(texts: dict[str, str]) -> list[str]:
    """Functions that other files can call and that no header of their file, or of the interface to Python, declares."""
    shared = texts.get("tt_runtime.h", "")
    return [f"{name}: {function}" for name, text in texts.items() if name.endswith(".c")
            for function, static, _ in c_functions(text)
            if not static and not re.search(rf"\b{function}\(", texts.get(name[:-1] + "h", "") + shared)
            and not function.startswith("PyInit_")]


def test_no_circles_in_c():
    assert circles(c_needs(CSRC)) == []


def test_every_function_of_c_is_declared_by_its_header():
    assert undeclared(CSRC) == []


def test_files_and_functions_of_c_are_short():
    assert [name for name, text in CSRC.items() if len(text.splitlines()) > 400] == []
    assert [f"{name}: {function}" for name, text in CSRC.items() for function, _, lines in c_functions(text)
            if lines > 60] == []


def test_a_circle_in_c_is_found():
    texts = {"a.c": '#include "a.h"\n#include "b.h"\n', "a.h": "", "b.c": '#include "b.h"\n', "b.h": ""}
    assert circles(c_needs(texts)) == []
    assert circles(c_needs(texts | {"b.h": '#include "a.h"\n'})) == ["a -> b -> a"]


def test_an_undeclared_function_of_c_is_found():
    texts = {"a.c": "int f(void) {\n    return 1;\n}\nstatic int g(void) {\n    return 2;\n}\n"
                    "ALWAYS_INLINE int h(int x) {\n    return x;\n}\n", "a.h": "int g(void);"}
    assert undeclared(texts) == ["a.c: f"]
    assert c_functions(texts["a.c"]) == [("f", False, 3), ("g", True, 3), ("h", True, 3)]


def test_readme_prints_the_layers():
    shown = layers_text() in (ROOT / "README.md").read_text()
    assert shown, f"put this into the README's section on layers:\n{layers_text()}"


@pytest.fixture
def package(tmp_path):
    """Writes a small package named tinytrace and answers its imports."""

    def write(files: dict[str, str]) -> list[Import]:
        root = tmp_path / "tinytrace"
        for name, text in {"__init__": "", **files}.items():
            path = root / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return read_imports(root)

    return write


def test_an_upward_import_is_found(package):
    imports = package({"core/trees": "from tinytrace.api import jit\n", "api/jit": ""})
    assert upward(imports) == ["tinytrace.core.trees:1 imports tinytrace.api.jit: from layer 1 up to 8"]


def test_a_relative_upward_import_is_found(package):
    imports = package({"core/trees": "from ..api import jit\n", "api/jit": ""})
    assert upward(imports) == ["tinytrace.core.trees:1 imports tinytrace.api.jit: from layer 1 up to 8"]


def test_an_upward_import_for_types_is_found(package):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tinytrace.api.jit import Jitted\n"
    assert len(upward(package({"core/trees": text, "api/jit": ""}))) == 1


def test_an_import_inside_a_function_is_found(package):
    imports = package({"core/trees": "def f():\n    import tinytrace.errors\n", "errors": ""})
    assert inside_functions(imports) == ["tinytrace.core.trees:2 imports tinytrace.errors inside a function"]


def test_a_cycle_is_found(package):
    imports = package(
        {
            "core/a": "from tinytrace.core import b\n",
            "core/b": "from tinytrace.core.c import x\n",
            "core/c": "import tinytrace.core.a\n",
        }
    )
    assert cycles(imports) == ["tinytrace.core.a -> tinytrace.core.b -> tinytrace.core.c -> tinytrace.core.a"]


def test_a_cycle_of_annotations_is_found(package):
    later = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tinytrace.core.a import X\n"
    imports = package({"core/a": "from tinytrace.core.b import y\n", "core/b": later})
    assert cycles(imports) == ["tinytrace.core.a -> tinytrace.core.b -> tinytrace.core.a"]


def test_a_needless_import_for_types_is_found(package):
    later = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tinytrace.core.a import X\n"
    files = {"core/a": "", "core/b": later}
    assert needless(package({"__init__": "import tinytrace.core.b\n", **files})) == []
    assert len(needless(package({"__init__": "import tinytrace.core.b, tinytrace.core.a\n", **files}))) == 1
