"""`records` against the standard library: what holds of classes made there holds of those made here."""
import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import threading
import typing

import pytest

from tinytrace import records


@records.dataclass(frozen=True)
class Point:
    """A place in the plane."""

    x: int
    y: int = 0


@records.dataclass(frozen=True)
class Named(Point):
    name: str = "origin"
    y: int = 5


class Pair(records.NamedTuple):
    """Two numbers."""

    first: int
    second: int = 2

    @property
    def total(self):
        return self.first + self.second


def outcome(function):
    """What a function returns, or the error that it raises."""
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"eq": False}, {"frozen": True, "eq": False},
                                     {"frozen": True, "repr": False}], ids=str)
@pytest.mark.parametrize("question", [
    lambda kind: repr(kind(1)).split(" at 0x")[0],
    lambda kind: (kind(1), kind(1, 2)) == (kind(1), kind(1, 2)),
    lambda kind: (kind(1) == kind(2), kind(1) == (1, 0, []), kind(1) != kind(1)),
    lambda kind: kind(float("nan")) == kind(float("nan")),
    lambda kind: len({kind(1, 2, ()), kind(1, 2, ())}),
    lambda kind: hash(thing := kind(1)) == object.__hash__(thing),
    lambda kind: setattr(kind(1), "x", 2),
    lambda kind: setattr(kind(1), "other", 2),
    lambda kind: delattr(kind(1), "x"),
    lambda kind: vars(kind(1, z="z")),
    lambda kind: kind(1).z is kind(1).z,
    lambda kind: kind(),
    lambda kind: kind(1, 2, 3, 4),
    lambda kind: kind(1, w=2),
    lambda kind: (kind.__match_args__, kind.y, hasattr(kind, "z"), kind.__doc__, kind.__name__),
    lambda kind: [(field.name, field.type, field.default) for field in dataclasses.fields(kind)],
    lambda kind: vars(dataclasses.replace(kind(1), y=5)),
    lambda kind: dataclasses.replace(kind(1), w=5),
    lambda kind: dataclasses.asdict(kind(1, kind(2))),
    lambda kind: (dataclasses.is_dataclass(kind), repr(kind.__dataclass_params__)),
    lambda kind: list(inspect.signature(kind).parameters),
    lambda kind: inspect.signature(kind).parameters["y"].default,
    lambda kind: inspect.get_annotations(kind.__init__, eval_str=True)["y"],
    lambda kind: vars(copy.deepcopy(kind(1))),
], ids=range(24))  # fmt: skip
def test_a_dataclass_is_as_in_the_standard_library(question, options):
    def made(dataclass):
        @dataclass(**options)
        class Thing:
            """A thing."""

            x: int
            y: int = 0
            z: object = dataclasses.field(default_factory=list)

        return Thing

    theirs, ours = made(dataclasses.dataclass), made(records.dataclass)
    assert outcome(lambda: question(theirs)) == outcome(lambda: question(ours))


@pytest.mark.parametrize("question", [
    lambda kind: (kind(1), kind(1, 3), kind(second=1, first=2), kind(1) == (1, 2), hash(kind(1))),
    lambda kind: repr(kind(1)),
    lambda kind: (kind(1).first, kind(1).second, kind(1).total, [*kind(1)]),
    lambda kind: kind(),
    lambda kind: kind(1, 2, 3),
    lambda kind: kind(1, third=2),
    lambda kind: kind._make([1, 2]),
    lambda kind: kind._make([1]),
    lambda kind: kind(1)._replace(second=5),
    lambda kind: kind(1)._replace(third=5),
    lambda kind: kind(1)._asdict(),
    lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__slots__, kind.__doc__),
    lambda kind: setattr(kind(1), "first", 2),
    lambda kind: setattr(kind(1), "other", 2),
    lambda kind: (type(kind), issubclass(kind, tuple), kind.first.__doc__),
    lambda kind: list(inspect.signature(kind).parameters),
    lambda kind: typing.get_type_hints(kind),
    lambda kind: vars(type("Sub", (kind,), {})(7)),
], ids=range(18))  # fmt: skip
def test_a_named_tuple_is_as_in_the_standard_library(question):
    class Theirs(typing.NamedTuple):
        """Two numbers."""

        first: int
        second: int = 2

        @property
        def total(self):
            return self.first + self.second

    Theirs.__name__ = "Pair"
    Theirs.__new__.__qualname__ = "Pair.__new__"
    assert str(outcome(lambda: question(Theirs))) == str(outcome(lambda: question(Pair)))


@pytest.mark.parametrize("value", [Point(1, 2), Named(1), Pair(1)], ids=str)
def test_values_survive_pickle_and_copy(value):
    for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert other == value
        assert type(other) is type(value)


def test_fields_of_a_base_come_first_and_defaults_are_overridden():
    assert repr(Named(1)) == "Named(x=1, y=5, name='origin')"
    assert Named(1, 0) != Point(1, 0)
    assert records.replace(Named(1), x=3, name="p") == Named(3, name="p")
    match Named(1):
        case Point(x, y):
            assert (x, y) == (1, 5)


def test_a_dataclass_of_the_standard_library_may_extend_one():
    @dataclasses.dataclass(frozen=True)
    class Marked(Point):
        mark: str = ""

    assert repr(Marked(1, mark="!")).endswith("Marked(x=1, y=0, mark='!')")
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclasses.dataclass(type("Open", (Point,), {}))


def test_methods_of_ones_own_stay():
    @records.dataclass(frozen=True)
    class Own:
        x: int

        def __repr__(self):
            return "own"

        def __hash__(self):
            return 7

        def __init__(self, x):
            self.__dict__["x"] = 2 * x

    class Extended(Own):
        def __init__(self):
            super().__init__(5)

    assert (repr(Own(1)), hash(Own(1)), Own(1).x, Extended().x) == ("own", 7, 2, 10)


def test_a_constructor_is_found_through_super_before_it_is_written():
    @records.dataclass
    class Base:
        x: int
        halves: list[float] = dataclasses.field(default_factory=list)

        def __post_init__(self):
            self.halves.append(self.x / 2)

    class Doubled(Base):
        def __init__(self, x):
            super().__init__(2 * x)

    class Row(records.NamedTuple):
        x: int

    class Twice(Row):
        def __new__(cls, x):
            return super().__new__(cls, 2 * x)

    assert (Doubled(3).halves, Twice(3).x) == ([3.0], 6)


def test_many_threads_may_make_the_first_object():
    @records.dataclass(frozen=True)
    class Thing:
        x: int
        y: int

    start, made = threading.Barrier(8), []

    def make(i):
        start.wait()
        made.append(Thing(i, 0))

    threads = [threading.Thread(target=make, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(thing.x for thing in made) == list(range(8))


def test_a_value_inside_itself_is_printed():
    @records.dataclass
    class Ring:
        rest: object = None

    ring = Ring()
    ring.rest = ring
    assert repr(ring).endswith("Ring(rest=...)")


def test_nothing_is_compiled_when_a_class_is_made():
    code = """if True:
        import sys
        from tinytrace import records
        sys.addaudithook(lambda event, arguments: print(event) if event in ("compile", "exec") else None)
        @records.dataclass(frozen=True)
        class Point:
            x: int
        class Pair(records.NamedTuple):
            x: int
        print("made")
        Point(1), Pair(1)"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert printed[0] == "made"
    assert printed.count("compile") == 2
