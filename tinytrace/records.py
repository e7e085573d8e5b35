"""`dataclass`, `NamedTuple` and `replace`, with the meaning that they have in the standard library, but made quickly.

There, a class waits until its methods have been written as text and compiled: 400 us, and 100 for a tuple. A program
that starts imports a hundred such classes. Here all of them share their methods. One has to be written for each class,
that which takes the fields by name: it is when the first object is made, or somebody asks for it.

What nobody here needs is left out: `order`, `slots`, `kw_only`, `InitVar`, `ClassVar`, and of `field` all but
`default_factory`.
"""
from __future__ import annotations

import reprlib
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, make_dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

Class = TypeVar("Class", bound=type)
RowT = TypeVar("RowT", bound="_Row")

if TYPE_CHECKING:  # type checkers know what these mean
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
    from typing import NamedTuple as NamedTuple
else:
    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True):
        """Make a class of values of one whose annotations name its fields; `dataclasses` takes it for one of its own.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), replace(Point(1), y=2)
        (Point(x=1, y=0), True, Point(x=1, y=2))
        """
        def decorate(cls):
            return _with_methods(cls, {"frozen": frozen, "eq": eq, "repr": repr})

        return decorate if cls is None else decorate(cls)

    def replace(value, /, **changes):
        """Return an object of the same class with the same fields, but for `changes`."""
        fields = {name: getattr(value, name) for name in value.__match_args__}
        fields.update(changes)
        return type(value)(**fields)

    class _TupleClass(type):
        def __new__(meta, name, bases, namespace):
            if not bases:
                return super().__new__(meta, name, bases, namespace)
            return _with_names(type(name, (_Row,), {"__slots__": (), **namespace}))

    class NamedTuple(metaclass=_TupleClass):
        """The base of a class of tuples whose annotations name the elements.

        >>> class Point(NamedTuple):
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == (1, 0), Point(1)._replace(y=2)
        (Point(x=1, y=0), True, Point(x=1, y=2))
        """


# --- the method that is written ----------------------------------------------------------------------------------

class _Later:
    """An attribute of a class that is made when it is first looked up."""

    def __init__(self, cls: type, name: str, make: Callable[[type], Any]) -> None:
        self.cls, self.name, self.make = cls, name, make

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if vars(self.cls)[self.name] is self:
            setattr(self.cls, self.name, self.make(self.cls))
        made = vars(self.cls)[self.name]
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made


def _written(cls: type, head: str, defaults: Mapping[str, Any], text: str, names: Mapping[str, Any]) -> Any:
    """Return a method `head` ("__init__ self") whose parameters are the fields; `text`, an expression, is what it does.

    defaults: the field's default values.  names: what the text knows besides the fields.
    """
    name, itself = head.split()
    fields = cls.__match_args__  # type: ignore[attr-defined]
    parameters = [itself, *(f"{field}=_default_{field}" if field in defaults else field for field in fields)]
    known = {f"_default_{field}": default for field, default in defaults.items()}
    method = eval(f"lambda {', '.join(parameters)}: {text}", {**names, **known, "__name__": cls.__module__})
    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    method.__annotations__ = {field: _annotation(cls, field) for field in fields}
    return method


def _annotation(cls: type, field: str) -> Any:
    return next(base.__annotations__[field] for base in cls.__mro__ if field in base.__annotations__)


# --- dataclass ---------------------------------------------------------------------------------------------------

def _with_methods(cls: Class, options: dict[str, Any]) -> Class:
    fields: dict[str, Any] = {}
    """By name: the default value, a Field that says how to make one, or MISSING."""
    for base in cls.__mro__[:0:-1]:
        fields |= vars(base).get("_fields_of_dataclass", {})
    for name in cls.__annotations__:
        fields[name] = default = vars(cls).get(name, MISSING)
        if isinstance(default, Field):
            delattr(cls, name)
    methods: dict[str, Any] = {
        "_fields_of_dataclass": fields,
        "__match_args__": tuple(fields),
        "__init__": _Later(cls, "__init__", _init),
        "__dataclass_fields__": _Later(cls, "__dataclass_fields__", lambda cls: _twin(cls, options)[0]),
        "__dataclass_params__": _Later(cls, "__dataclass_params__", lambda cls: _twin(cls, options)[1]),
        "__replace__": replace,
    }
    if options["repr"]:
        methods["__repr__"] = _repr
    if options["frozen"]:
        methods |= {"__setattr__": _no_assignment, "__delattr__": _no_deletion}
    if options["eq"]:
        methods |= {"__eq__": _eq, "__hash__": _hash if options["frozen"] else None}
    for name, method in methods.items():
        if name not in vars(cls):
            setattr(cls, name, method)
    return cls


def _init(cls: Any) -> Any:
    """Return `__init__`: it fills the instance's `__dict__` in one step, which is quick, and works for a frozen one."""
    fields = cls._fields_of_dataclass
    makers = {name: default.default_factory for name, default in fields.items() if isinstance(default, Field)}
    defaults = {name: MISSING if name in makers else default for name, default in fields.items()
                if default is not MISSING}
    values = [f"{name}={f'_make_{name}() if {name} is _MISSING else ' if name in makers else ''}{name}"
              for name in fields]
    text = f"self.__dict__.update({', '.join(values)})"
    if hasattr(cls, "__post_init__"):
        text = f"({text}, self.__post_init__())[1]"
    names = {"_MISSING": MISSING, **{f"_make_{name}": make for name, make in makers.items()}}
    return _written(cls, "__init__ self", defaults, text, names)


def _twin(cls: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return what `dataclasses` has to know of a class: its fields and parameters, taken from one made there."""
    fields = [(name, _annotation(cls, name), *([] if default is MISSING else [default]))
              for name, default in cls._fields_of_dataclass.items()]
    twin: Any = make_dataclass(cls.__name__, fields, **options)
    return twin.__dataclass_fields__, twin.__dataclass_params__


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    fields = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__match_args__])


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _no_assignment(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


# --- NamedTuple --------------------------------------------------------------------------------------------------

class _Row(tuple[Any, ...]):
    """What named tuples share, as documented for `collections.namedtuple`."""

    __slots__ = ()
    _fields = tuple[str, ...]()

    @classmethod
    def _make(cls: type[RowT], iterable: Iterable[Any]) -> RowT:
        values = tuple(iterable)
        if len(values) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(values)}")
        return tuple.__new__(cls, values)

    def _replace(self: RowT, /, **changes: Any) -> RowT:
        result = self._make(map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"Got unexpected field names: {list(changes)!r}")
        return result

    __replace__ = _replace

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map('{}={!r}'.format, self._fields, self))})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


_MOST = 16
_Numbered = namedtuple("_Numbered", [f"element{i}" for i in range(_MOST)])  # type: ignore[misc]
_GETTERS = [getattr(_Numbered, f"element{i}") for i in range(_MOST)]
"""The attribute that is an element, by its number: the standard library's is in C."""


def _with_names(cls: Any) -> Any:
    names = tuple(cls.__annotations__)
    cls._fields = cls.__match_args__ = names  # type: ignore[misc]
    cls._field_defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
    cls.__new__ = _Later(cls, "__new__", _new)
    for name, getter in zip(names, _GETTERS[:len(names)], strict=True):
        setattr(cls, name, getter)
    return cls


def _new(cls: Any) -> Any:
    text = f"_new(_cls, ({''.join(f'{name}, ' for name in cls._fields)}))"
    return staticmethod(_written(cls, "__new__ _cls", cls._field_defaults, text, {"_new": tuple.__new__}))
