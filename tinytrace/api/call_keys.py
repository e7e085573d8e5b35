"""`CallKey`: what decides which compiled program answers a call, as a value to print, compare, store and send.

The tables of `jit_cache` are looked up by `LookupKey`, which is made of the very objects of the call and compares them.
A `CallKey` says the same in texts, so it needs none of these objects. Static values and aux data are named so that
within one process two keys are equal if and only if their look-up keys are: the second value that prints like an
unequal first one is called `... #2`.
"""
from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tinytrace.api.jit_cache import JitOptions, LookupKey
from tinytrace.api.signatures import parameter_names
from tinytrace.config import TRACE_FIELDS, config, enable_x64
from tinytrace.core import views
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.key_diff import KeyDiff, KeyRow
from tinytrace.core.trees import PyTreeDef
from tinytrace.records import dataclass
from tinytrace.util import lazy

Texts = dict[Any, str]
"""By static value or aux data, compared as look-up keys compare them: what it is called."""


@dataclass(frozen=True)
class Leaf:
    """One dynamic argument, or one array in it.

    Args:
      path: `x`, `params['w'][0]`.
      shape, dtype, weak_type: its aval.
      kind: what holds the value: `jax.Array`, `numpy.ndarray`, `float`, ...
      passed: by `position` or by `keyword`.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    weak_type: bool
    kind: str
    passed: str

    def __str__(self) -> str:
        kind = "" if self.kind == "jax.Array" else f" {self.kind}"
        return f"{self.path}: {self.dtype}[{','.join(map(str, self.shape))}]{'~' if self.weak_type else ''}{kind}"


@dataclass(frozen=True)
class Container:
    """A node of the arguments' structure: a list, a dict, an object that was registered.

    data: what is no child: the keys of a dict, or the aux data of an object.
    """

    path: str
    type: str
    data: tuple[str, ...]
    children: int


@dataclass(frozen=True)
class Static:
    """A static argument: its name, its type and what it prints."""

    path: str
    type: str
    text: str
    passed: str

    def __str__(self) -> str:
        return f"{self.path}={self.text} static"


@dataclass(frozen=True)
class CallKey:
    """The identity of a kind of calls of one function; made by `f.key_for(*args)`.

    Args:
      function: module and name.
      options: those of `jit` that set tables apart, if they are not the usual ones: (name, value).
      leaves: the dynamic arguments.
      containers: how they are nested.
      statics: the static arguments.
      settings: those that change what is traced: (name, value).
    """

    function: str
    options: tuple[tuple[str, str], ...]
    leaves: tuple[Leaf, ...]
    containers: tuple[Container, ...]
    statics: tuple[Static, ...]
    settings: tuple[tuple[str, Any], ...]

    @lazy
    def digest(self) -> str:
        """A name of 12 hex digits: the same in every process, for what prints the same everywhere."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values; `CallKey.from_json` is the way back."""
        fields: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return fields

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CallKey:
        """The key that `to_json` described; TypeError, KeyError or ValueError if it is none."""
        leaves = tuple(Leaf(**{**leaf, "shape": tuple(leaf["shape"])}) for leaf in value["leaves"])
        return cls(value["function"], tuple((name, text) for name, text in value["options"]), leaves,
                   tuple(Container(**{**node, "data": tuple(node["data"])}) for node in value["containers"]),
                   tuple(Static(**static) for static in value["statics"]),
                   tuple((name, setting) for name, setting in value["settings"]))

    def diff(self, other: CallKey) -> KeyDiff:
        """Return where the keys differ, leaf by leaf and flag by flag, as (mine, other's); empty if they are equal."""
        rows = [*_functions(self, other), *_named("", self.options, other.options, _OPTION_HINT)]
        rows += [*_trees(self, other), *_statics(self, other)]
        rows += _named("config.", self.settings, other.settings, _SETTING_HINT)
        return KeyDiff(rows)

    def __str__(self) -> str:
        options = [f"{name}={text}" for name, text in self.options if not name.startswith("static_")]
        settings = [f"{name}={value}" for name, value in self.settings if value != _usual(name)]
        beside = f" [{', '.join(options + settings)}]" if options or settings else ""
        return f"{self.function}({', '.join(map(str, (*self.leaves, *self.statics)))}){beside}"

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, ...]] = [("function", self.function, "")]
        rows += [(name, text, "") for name, text in self.options]
        rows += [(leaf.path, str(leaf).partition(": ")[2], f"by {leaf.passed}") for leaf in self.leaves]
        rows += [(node.path, node.type, ", ".join(node.data)) for node in self.containers]
        rows += [(static.path, static.text, f"static {static.type}, by {static.passed}") for static in self.statics]
        rows += [(f"config.{name}", value, "") for name, value in self.settings]
        return f"<p>CallKey {self.digest}</p>" + views.tables.html_table(("part", "value", "kind"), rows)


# --- from the objects of a call to texts -------------------------------------------------------------------------

def described(key: LookupKey, fun: Callable[..., Any], options: JitOptions, signature: inspect.Signature | None,
              texts: Texts) -> CallKey:
    """Return a look-up key of a function in texts; `texts` are those that the function's tables have used."""
    args_tree, kwargs_tree = key.tree.children()
    keywords = [str(name) for name in (kwargs_tree.node_data() or (dict, ()))[1]]
    names = parameter_names(signature, len(args_tree.children()), keywords, [place for place, _ in key.statics])
    leaves: list[Leaf] = []
    containers: list[Container] = []
    kinds = iter(key.leaves)
    x64 = bool(key.context[TRACE_FIELDS.index("enable_x64")])
    trees = [*args_tree.children(), *kwargs_tree.children()]
    for i, (name, tree) in enumerate(zip(names.dynamic, trees, strict=True)):
        passed = "position" if i < len(args_tree.children()) else "keyword"
        for path, node in walk(name, tree):
            if node.node_data() is None:
                leaves.append(_leaf(path, next(kinds), passed, x64))
            else:
                containers.append(_container(path, node, texts))
    statics = [Static(name, _type_name(type(item.value)), _text(item.value, item, texts),
                      "position" if isinstance(place, int) else "keyword")
               for name, (place, item) in zip(names.static, key.statics, strict=True)]
    return CallKey(name_of(fun), _options(options), tuple(leaves), tuple(containers), tuple(statics),
                   tuple(zip(TRACE_FIELDS, key.context, strict=True)))


def name_of(fun: Callable[..., Any]) -> str:
    """Return the module and the name of a function, of what a partial or a bound method is made of if it is one.

    >>> name_of(name_of)
    'tinytrace.api.call_keys.name_of'
    """
    inner: Any = fun
    while (deeper := getattr(inner, "func", None)) is not None and not hasattr(inner, "__qualname__"):
        inner = deeper
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    return f"{getattr(inner, '__module__', None) or type(inner).__module__}.{name}"


def walk(path: str, tree: PyTreeDef) -> Iterator[tuple[str, PyTreeDef]]:
    """Yield each node of a structure with its path, leaves too, from the root down."""
    yield path, tree
    data = tree.node_data()
    if data is not None:
        for step, child in zip(_steps(*data, len(tree.children())), tree.children(), strict=True):
            yield from walk(path + step, child)


def _steps(kind: type[Any], data: Any, count: int) -> Sequence[str]:
    """What is written behind a node's path for each of its children."""
    if issubclass(kind, dict) and data is not None:
        names = data[1] if kind.__name__ == "defaultdict" and isinstance(data, tuple) and len(data) == 2 else data
        if len(tuple(names)) == count:
            return [f"[{name!r}]" for name in names]
    fields = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", None)
    if fields is not None and len(fields) == count:
        return [f".{name}" for name in fields]
    if issubclass(kind, (tuple, list)):
        return [f"[{i}]" for i in range(count)]
    return [f"[<flat index {i}>]" for i in range(count)]


def _leaf(path: str, kind: Any, passed: str, x64: bool) -> Leaf:
    """Describe what a look-up key has of a leaf, see `jit_cache.leaf_key`; numbers were 64 bits long if `x64`."""
    if isinstance(kind, ShapedArray):
        return Leaf(path, kind.shape, str(kind.str_short().partition("[")[0]), kind.weak_type, "jax.Array", passed)
    if isinstance(kind, tuple):
        aval = ShapedArray(*kind)
        return Leaf(path, aval.shape, aval.str_short().partition("[")[0], False, "numpy.ndarray", passed)
    if kind in (bool, int, float, complex):
        with contextlib.nullcontext() if config.enable_x64 == x64 else enable_x64(x64):
            aval = aval_of(kind())
        return Leaf(path, (), aval.str_short().partition("[")[0], aval.weak_type, kind.__name__, passed)
    return Leaf(path, (), "?", False, _type_name(kind), passed)


def _container(path: str, node: PyTreeDef, texts: Texts) -> Container:
    data = node.node_data()
    assert data is not None
    kind, aux = data
    if kind is dict:
        texts_of_data = tuple(map(repr, aux))
    else:
        texts_of_data = () if kind in (tuple, list, type(None)) else (_text(aux, _Aux(kind, aux), texts),)
    return Container(path, _type_name(kind), texts_of_data, len(node.children()))


class _Aux:
    """Aux data, compared as treedefs compare it."""

    def __init__(self, kind: type[Any], data: Any) -> None:
        self.kind, self.data = kind, data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Aux) and self.kind is other.kind and not self.data != other.data

    def __hash__(self) -> int:
        return hash(self.kind)  # aux data need not have a hash


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LONGEST = 200


def _text(value: Any, as_key: Any, texts: Texts) -> str:
    """Return a text for a value that no unequal value has; `as_key` compares as look-up keys do."""
    known = texts.get(as_key)
    if known is not None:
        return known
    try:
        printed = _ADDRESS.sub("", repr(value))
    except Exception:  # a user's __repr__
        printed = f"<{_type_name(type(value))}>"
    if len(printed) > _LONGEST:
        printed = f"{printed[:_LONGEST]}... {hashlib.sha256(printed.encode(errors='replace')).hexdigest()[:8]}"
    if len(texts) > 4096:
        texts.clear()
    same = sum(text == printed or text.startswith(f"{printed} #") for text in texts.values())
    return texts.setdefault(as_key, f"{printed} #{same + 1}" if same else printed)


def _type_name(kind: type[Any]) -> str:
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def _options(options: JitOptions) -> tuple[tuple[str, str], ...]:
    found = [("static_argnums", options.statics.nums), ("static_argnames", options.statics.names),
             ("donate_argnums", options.donated.nums), ("donate_argnames", options.donated.names),
             ("keep_unused", options.keep_unused), ("inline", options.inline), ("background", options.background)]
    return tuple((name, str(value)) for name, value in found if value)


# --- where two keys differ -----------------------------------------------------------------------------------------

_OPTION_HINT = "`jit` with other options is another function, with tables of its own"
_SETTING_HINT = "a setting that changes what is traced is part of every key"


def _functions(mine: CallKey, other: CallKey) -> Iterator[KeyRow]:
    if mine.function != other.function:
        yield KeyRow("function", mine.function, other.function, "each function has tables of its own")


def _named(prefix: str, mine: Sequence[tuple[str, Any]], other: Sequence[tuple[str, Any]], hint: str) -> list[KeyRow]:
    here, there = dict(mine), dict(other)
    return [KeyRow(prefix + name, here.get(name), there.get(name), hint) for name in dict([*mine, *other])
            if here.get(name) != there.get(name)]


def _trees(mine: CallKey, other: CallKey) -> Iterator[KeyRow]:
    """Rows for nodes and leaves; what lies below a place that was told is told."""
    here, there = _places(mine), _places(other)
    statics = {static.path for static in (*mine.statics, *other.statics)}
    told: list[str] = []
    for path in dict.fromkeys([*here, *there]):
        a, b = here.get(path), there.get(path)
        if any(path.startswith(above) and path[len(above):][:1] in ("", ".", "[") for above in told):
            continue
        if isinstance(a, Leaf) and isinstance(b, Leaf):
            yield from _leaf_rows(path, a, b)
        elif isinstance(a, Container) and isinstance(b, Container) and a.type == b.type:
            yield from _node_rows(path, a, b)
        else:
            told.append(path)
            yield _other_kind(path, a, b, path in statics)


def _places(key: CallKey) -> dict[str, Leaf | Container]:
    """The nodes and leaves of a key by path, those above first."""
    places: dict[str, Leaf | Container] = {node.path: node for node in key.containers}
    places.update((leaf.path, leaf) for leaf in key.leaves)
    return places


def _other_kind(path: str, a: Leaf | Container | None, b: Leaf | Container | None, is_static: bool) -> KeyRow:
    mine, other = _kind(a, is_static), _kind(b, is_static)
    if is_static:
        return KeyRow(path, mine, other, "static in one call, traced in the other")
    if a is None or b is None:
        return KeyRow(path, mine, other, "only one of the calls has it" if "[" not in path else "another structure")
    return KeyRow(path, mine, other, "containers of another type are another structure")


def _kind(place: Leaf | Container | None, is_static: bool) -> str | None:
    if place is None:
        return "static" if is_static else None
    return place.type if isinstance(place, Container) else str(place).partition(": ")[2]


def _node_rows(path: str, a: Container, b: Container) -> Iterator[KeyRow]:
    if a.data != b.data and a.type != "dict":
        yield KeyRow(f"{path}.aux_data", ", ".join(a.data), ", ".join(b.data),
                     "aux data is static: its value is part of the key")
    elif a.children != b.children and a.type != "dict":
        yield KeyRow(f"len({path})", a.children, b.children, "another number of items is another structure")


def _leaf_rows(path: str, a: Leaf, b: Leaf) -> Iterator[KeyRow]:
    if a.shape != b.shape:
        rank = len(a.shape) != len(b.shape)
        yield KeyRow(f"{path}.shape", a.shape, b.shape,
                     "another rank is another program" if rank else "another shape is another program")
    if a.dtype != b.dtype:
        yield KeyRow(f"{path}.dtype", a.dtype, b.dtype, "another dtype is another program")
    if a.weak_type != b.weak_type:
        yield KeyRow(f"{path}.weak_type", a.weak_type, b.weak_type,
                     "a Python number has a dtype that yields to others; jnp.asarray(x, dtype) has not")
    if a.kind != b.kind:
        same_type = (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        yield KeyRow(f"type({path})", a.kind, b.kind,
                     "the same type: the call is new, its trace is not" if same_type else "")
    if a.passed != b.passed:
        yield KeyRow(path, f"by {a.passed}", f"by {b.passed}", "pass it always the same way")


def _statics(mine: CallKey, other: CallKey) -> Iterator[KeyRow]:
    here, there = {s.path: s for s in mine.statics}, {s.path: s for s in other.statics}
    leaves = {leaf.path for leaf in (*mine.leaves, *other.leaves)}
    for path in dict.fromkeys([*here, *there]):
        a, b = here.get(path), there.get(path)
        if a is None or b is None:
            if path not in leaves:
                yield KeyRow(path, a and a.text, b and b.text, "a static argument that only one call has")
            continue
        if a.text != b.text:
            yield KeyRow(path, a.text, b.text, "the value of a static argument is part of the key")
        if a.type != b.type:
            yield KeyRow(f"type({path})", a.type, b.type, "static values of different types are different keys")
        if a.passed != b.passed:
            yield KeyRow(path, f"by {a.passed}", f"by {b.passed}", "pass it always the same way")


_USUAL = {"numpy_dtype_promotion": "standard", "default_prng_impl": "threefry2x32", "numpy_rank_promotion": "allow",
          "default_matmul_precision": None}


def _usual(name: str) -> Any:
    return _USUAL.get(name, False)
