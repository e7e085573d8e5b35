"""The exercises of chapter 10."""

from hypothesis import strategies as st

from course.cases import template
from course.chapters.ch10_vmap_and_pytrees.batching import TREES
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch10_vmap_and_pytrees.batching import array, front
from tinytrace.tree_util import tree_leaves
"""

# --- 10.1 --------------------------------------------------------------------------------------------------------

FLATTEN = text("""
    def flatten(tree):
        if tree is None:
            return [], lambda leaves: None
        if isinstance(tree, dict):
            keys = sorted(tree)
            children, build = [tree[key] for key in keys], lambda xs: dict(zip(keys, xs))
        elif isinstance(tree, (list, tuple)):
            children, build = list(tree), type(tree)
        else:
            return [tree], lambda leaves: leaves[0]
        parts = [flatten(child) for child in children]

        def rebuild(leaves):
            rest = iter(leaves)
            return build([inner([next(rest) for _ in found]) for found, inner in parts])

        return [x for found, _ in parts for x in found], rebuild
""")

FLATTEN_EXERCISE = Exercise(
    id="10.1",
    title="take a container apart",
    objective="You can turn any nested container into a list, and back.",
    needs=("pytree", "leaf"),
    out_of_scope="classes that are registered, and named tuples.",
    task="""
Write `flatten(tree)`: a pair of the list of leaves and a function that builds the same container of other leaves. Containers are
lists, tuples and dictionaries (by sorted keys), nested at will. `None` is a container without leaves; everything else is a leaf, also
a text.
""",
    setup=SETUP,
    entry="flatten",
    stub=text('''
        def flatten(tree):
            """The leaves of a container, and the function that builds it again."""
            return [], lambda leaves: ...
    '''),
    solution=FLATTEN,
    wrong=(
        (
            edit(FLATTEN, ("keys = sorted(tree)", "keys = list(tree)")),
            "You take keys in the order in which they came in. Two dictionaries that are equal would have different leaves.",
        ),
        (
            edit(FLATTEN, ("    if tree is None:\n        return [], lambda leaves: None\n", "")),
            "`None` has become a leaf, and there is no number in it. It is an empty place.",
        ),
        (
            edit(FLATTEN, ("children, build = list(tree), type(tree)", "children, build = list(tree), list")),
            "Tuples come back as lists.",
        ),
        (
            edit(FLATTEN, ("parts = [flatten(child) for child in children]", "parts = [([child], lambda leaves: leaves[0]) for child in children]")),
            "You go down one level. Containers stand in containers.",
        ),
        (
            edit(FLATTEN, ("elif isinstance(tree, (list, tuple)):", "elif isinstance(tree, str) and len(tree) > 1:\n        children, build = list(tree), ''.join\n    elif isinstance(tree, (list, tuple)):")),
            "You take texts apart. They can be iterated over, and are no containers all the same.",
        ),
        (
            edit(FLATTEN, ("rest = iter(leaves)", "rest = iter(list(leaves)[::-1])")),
            "The leaves are put back in another order.",
        ),
    ),
    hints=(
        "Find the children of a container and a function that builds it of children.",
        "Flatten each child; put the leaves one behind the other.",
        "To build: hand each child's own function as many leaves as the child had.",
    ),
    properties=(
        Property(
            "The leaves, and the same container of other leaves.",
            template("leaves, rebuild = flatten({tree})\nrepr([leaves, rebuild([x * 2 for x in leaves])])", tree=TREES),
            ("flatten({'b': 1, 'a': (2, [3, None])})[0]",),
        ),
    ),
    after="`core/trees.py` separates the two halves: a structure that can be compared and hashed, since it is in every key, and the leaves.",
)  # fmt: skip

# --- 10.2 --------------------------------------------------------------------------------------------------------

SPREAD = text("""
    def spread(axes, tree):
        if axes is None or isinstance(axes, int):
            return [axes] * len(tree_leaves(tree))
        if type(axes) is not type(tree) or len(axes) != len(tree):
            raise ValueError("axes do not fit")
        if isinstance(tree, dict):
            if axes.keys() != tree.keys():
                raise ValueError("axes do not fit")
            pairs = [(axes[key], tree[key]) for key in sorted(tree)]
        else:
            pairs = zip(axes, tree)
        return [axis for part, child in pairs for axis in spread(part, child)]
""")

SPREAD_EXERCISE = Exercise(
    id="10.2",
    title="axes for a tree",
    objective="You can read `in_axes`.",
    needs=("pytree", "leaf", "batch dimension"),
    out_of_scope="axes that an array does not have.",
    task="""
`in_axes` may be a number for everything, or a container that is like the arguments down to some depth: a *prefix* of them. `None` says
"not mapped". Write `spread(axes, tree)`: a list of one axis for each leaf of `tree`. A number or `None` counts for all leaves below
it. If the containers do not fit, raise a ValueError. `tree_leaves(tree)` is the list of leaves.
""",
    setup=SETUP,
    entry="spread",
    stub=text('''
        def spread(axes, tree):
            """One axis for each leaf."""
            ...
    '''),
    solution=SPREAD,
    wrong=(
        (
            edit(SPREAD, ("[axes] * len(tree_leaves(tree))", "[axes]")),
            "One axis for a whole container counts for each of its leaves.",
        ),
        (
            edit(SPREAD, ("if axes is None or isinstance(axes, int):", "if axes is None:\n        return []\n    if isinstance(axes, int):")),
            "`None` is an answer here, \"not mapped\", and each leaf gets it. It is no empty place.",
        ),
        (
            edit(SPREAD, (" or len(axes) != len(tree)", "")),
            "Lists of different lengths are zipped to the shorter: some leaves get no axis, and nobody is told.",
        ),
        (
            edit(SPREAD, ("for key in sorted(tree)", "for key in tree")),
            "Leaves come in the order of sorted keys; yours are in the order in which they were written.",
        ),
        (
            edit(SPREAD, ("type(axes) is not type(tree) or ", "")),
            "A tuple does not fit a list, nor a list a number.",
        ),
        (
            edit(SPREAD, ("            if axes.keys() != tree.keys():\n                raise ValueError(\"axes do not fit\")\n".replace("            ", "        ", 1).replace("                raise", "            raise"), "")),
            "Other keys are a mistake of the caller. A KeyError from the inside does not tell him what he did.",
        ),
    ),
    hints=(
        "If `axes` is a number or `None`: as many of it as there are leaves.",
        "Else both must be containers of one kind and size: go down in pairs.",
        "For dictionaries: the same keys, and pairs in the order of sorted keys.",
    ),
    properties=(
        Property(
            "One axis for each leaf.",
            st.sampled_from([
                "spread(0, [1, 2])", "spread(None, (1, 2))", "spread((0, None), (1, [2, 3]))", "spread({'a': 0, 'b': 1}, {'b': 1, 'a': (2, 3)})",
                "spread([0, [1, None]], [1, [2, 3]])", "spread(1, {'a': [1, 2], 'b': 3})", "spread((None, 0), ([1, 2], 3))",
            ]),
            ("spread((0, None), (1, [2, 3]))", "spread({'a': 0, 'b': 1}, {'b': 1, 'a': (2, 3)})"),
        ),
        Property(
            "What does not fit is refused.",
            st.sampled_from([
                "spread((0, 1), (1, 2, 3))", "spread([0, 1], (1, 2))", "spread([0, 0], [1])", "spread({'a': 0}, {'b': 1})",
                "spread((0, (1, 1)), (1, [2, 3]))",
            ]),
            ("spread((0, 1), (1, 2, 3))",),
        ),
    ),
    after="`tree_prefixes.py` does this for `in_axes`, `out_axes` and static structures, and names the place that does not fit.",
)  # fmt: skip

# --- 10.3 --------------------------------------------------------------------------------------------------------

MAPPED = text("""
    def mapped(f, in_axes):
        def on_batch(*args):
            sizes = {x.shape[axis] for x, axis in zip(args, in_axes) if axis is not None}
            if len(sizes) != 1:
                raise ValueError(f"sizes differ: {sizes}")
            rows = []
            for i in range(*sizes):
                rows.append(f(*[x if axis is None else np.take(x, i, axis) for x, axis in zip(args, in_axes)]))
            if isinstance(rows[0], tuple):
                return tuple(np.stack(column) for column in zip(*rows))
            return np.stack(rows)

        return on_batch
""")

MAPPED_EXERCISE = Exercise(
    id="10.3",
    title="what vmap means",
    objective="You can say what `vmap` gives, without its rules.",
    needs=("batch dimension",),
    out_of_scope="speed, and results that are containers in containers.",
    task="""
Write `mapped(f, in_axes)`, the meaning of `vmap`: a function that calls `f` once for each example and stacks the results along a new
first dimension; if `f` gives a tuple, each of its parts. `in_axes` has for each argument the dimension along which its examples are,
or `None` for one that is the same in all calls. If two arguments have different numbers of examples, raise a ValueError.
""",
    setup=SETUP,
    entry="mapped",
    stub=text('''
        def mapped(f, in_axes):
            """The function that does to all examples what `f` does to one."""

            def on_batch(*args):
                ...

            return on_batch
    '''),
    solution=MAPPED,
    wrong=(
        (
            edit(MAPPED, ("np.take(x, i, axis)", "x[i]")),
            "You take rows, wherever the examples are.",
        ),
        (
            edit(MAPPED, ("x if axis is None else np.take(x, i, axis)", "np.take(x, i, axis or 0)")),
            "An argument with `None` is handed to every call as it is.",
        ),
        (
            edit(MAPPED, ("if len(sizes) != 1:", "sizes = {min(sizes)}\n        if False:")),
            "Two arguments have different numbers of examples, and you leave out some without a word.",
        ),
        (
            edit(MAPPED, ("if isinstance(rows[0], tuple):", "if False:")),
            "A tuple of results has become one array. Each part is a batch of its own.",
        ),
        (
            edit(MAPPED, ("return np.stack(rows)", "return np.stack(rows, axis=-1)")),
            "The examples are along the last dimension of your result.",
        ),
        (
            edit(MAPPED, ("return np.stack(rows)", "return rows")),
            "You give back a list. A batch is one array.",
        ),
    ),
    hints=(
        "How many examples are there? All arguments with an axis must agree.",
        "One call for each: `np.take(x, i, axis)` is example i.",
        "`np.stack` puts results together; for tuples, part by part: `zip(*rows)`.",
    ),
    properties=(
        Property(
            "The stack of single calls.",
            st.sampled_from([
                "mapped(lambda x: x * 2.0, (0,))(array(3))",
                "mapped(lambda x: x * 2.0, (1,))(array(2, 3))",
                "mapped(lambda x, y: x + y, (0, None))(array(2, 3), array(3))",
                "mapped(lambda x, y: x + y, (None, 1))(array(2), array(2, 3))",
                "mapped(lambda x: (x, x.sum()), (0,))(array(2, 3))",
                "mapped(lambda x, y: x * y, (0, 0))(array(2), array(3))",
                "mapped(lambda x, y: x * y, (0, 1))(array(3, 2), array(2, 4))",
            ]),
            ("mapped(lambda x, y: x + y, (0, None))(array(2, 3), array(3))", "mapped(lambda x, y: x * y, (0, 0))(array(2), array(3))"),
        ),
    ),
    after="This is the law that all batching rules obey, and how they are tested: \"vmap equals the stacked loop\", for every primitive.",
)  # fmt: skip

# --- 10.4 --------------------------------------------------------------------------------------------------------

SUM = text("""
    def batch_sum(x, dim, axes):
        axes = [axis % (x.ndim - 1) for axis in axes]
        real = tuple(axis + (axis >= dim) for axis in axes)
        return np.sum(x, axis=real), dim - sum(axis < dim for axis in real)
""")

SUM_EXERCISE = Exercise(
    id="10.4",
    title="the rule of sums",
    objective="You can write a batching rule.",
    needs=("batching rule", "batch dimension"),
    out_of_scope="sums over no axis.",
    task="""
`x` holds many examples, along its dimension `dim`. Each example is to be summed over `axes`, which count the dimensions of *one*
example (negative ones from the end). Write `batch_sum(x, dim, axes)`: all sums at once, with one `np.sum`, and along which dimension of
the result the examples are.
""",
    setup=SETUP,
    entry="batch_sum",
    stub=text('''
        def batch_sum(x, dim, axes):
            """The sums of all examples, and where the examples are in them."""
            return x, dim
    '''),
    solution=SUM,
    wrong=(
        (
            edit(SUM, ("axis + (axis >= dim)", "axis")),
            "The axes are those of one example. In the batch, those behind `dim` are one further on.",
        ),
        (
            edit(SUM, ("axis + (axis >= dim)", "axis + 1")),
            "You assume that the examples are along dimension 0. Only axes behind `dim` move.",
        ),
        (
            edit(SUM, ("dim - sum(axis < dim for axis in real)", "dim")),
            "Where a dimension in front of `dim` was summed away, the examples moved one to the front.",
        ),
        (
            edit(SUM, ("    axes = [axis % (x.ndim - 1) for axis in axes]\n", "")),
            "A negative axis counts from the end of one example, which has a dimension less than the batch.",
        ),
        (
            edit(SUM, ("axis % (x.ndim - 1)", "axis % x.ndim")),
            "An example has one dimension less than the batch: -1 is another axis in it.",
        ),
        (
            edit(SUM, ("dim - sum(axis < dim for axis in real)", "0")),
            "The examples are not always in front in the result.",
        ),
    ),
    hints=(
        "First make negative axes positive: an example has `x.ndim - 1` dimensions.",
        "An axis of the example at or behind `dim` is one further on in the batch.",
        "The place of the examples in the result: `dim`, less the dimensions in front of it that were summed away.",
    ),
    properties=(
        Property(
            "The same as one after the other.",
            st.sampled_from([
                f"front(*batch_sum(array(2, 3, 4), {dim}, {axes}))"
                for dim in (0, 1, 2) for axes in ("(0,)", "(1,)", "(0, 1)", "(-1,)", "(-2,)")
            ]),
            ("front(*batch_sum(array(2, 3), 0, (0,)))", "front(*batch_sum(array(2, 3), 1, (0,)))"),
        ),
    ),
    after="`show_rules(\"batch\")` prints tinytrace's own. A rule says where the examples are in its result, so nobody moves them about "
    "without need.",
)  # fmt: skip

# --- 10.5 --------------------------------------------------------------------------------------------------------

ADD = text("""
    def batch_add(x, dx, y, dy):
        rank = max(x.ndim - (dx is not None), y.ndim - (dy is not None))

        def aligned(a, dim):
            if dim is None:
                return a
            a = np.moveaxis(a, dim, 0)
            return a.reshape(a.shape[0], *[1] * (rank + 1 - a.ndim), *a.shape[1:])

        return aligned(x, dx) + aligned(y, dy), 0
""")

ADD_EXERCISE = Exercise(
    id="10.5",
    title="the rule of everything elementwise",
    objective="You can keep the examples of a batch apart.",
    needs=("batching rule", "batch dimension"),
    out_of_scope="examples whose shapes cannot be added.",
    task="""
Write `batch_add(x, dx, y, dy)`: the sums `x + y` of all examples, and along which dimension of the result they are. `dx` and `dy`
say where the examples are in an operand; `None` means that the operand is the same for all. One example of `x` and one of `y` may have
different ranks; they are added as NumPy adds them. The sum must be one addition.
""",
    setup=SETUP,
    entry="batch_add",
    stub=text('''
        def batch_add(x, dx, y, dy):
            """The sums of all examples, and where the examples are in them."""
            return x, 0
    '''),
    solution=ADD,
    wrong=(
        (
            edit(ADD, ("a.reshape(a.shape[0], *[1] * (rank + 1 - a.ndim), *a.shape[1:])", "a")),
            "Where one example is a number and the other a row, NumPy lines up the wrong dimensions: examples against elements.",
        ),
        (
            edit(ADD, ("        a = np.moveaxis(a, dim, 0)\n", "")),
            "The examples are not where you think: each operand has them along a dimension of its own.",
        ),
        (
            edit(ADD, ("        if dim is None:\n            return a\n        a = np.moveaxis(a, dim, 0)", "        a = np.moveaxis(a, dim or 0, 0)")),
            "An operand that is the same for all has no dimension of examples.",
        ),
        (
            edit(ADD, ("a.reshape(a.shape[0], *[1] * (rank + 1 - a.ndim), *a.shape[1:])", "a.reshape(*a.shape, *[1] * (rank + 1 - a.ndim))")),
            "New dimensions of length 1 belong in front of an example's own: that is how NumPy lines up shapes, from the end.",
        ),
        (
            edit(ADD, ("aligned(y, dy), 0", "aligned(y, dy), dx or 0")),
            "You moved the examples to the front, and then say that they are elsewhere.",
        ),
        (
            edit(ADD, ("return aligned(x, dx) + aligned(y, dy), 0", "return np.stack([a + b for a in aligned(x, dx) for b in aligned(y, dy)]), 0")),
            "You add each example of one to each of the other.",
        ),
    ),
    hints=(
        "Move the examples of each operand to the front.",
        "The rank of one example is `a.ndim - 1`; which of the two is larger?",
        "Insert dimensions of length 1 behind the first, until both have the larger rank.",
    ),
    properties=(
        Property(
            "The same as one after the other.",
            st.sampled_from([
                "front(*batch_add(array(3), 0, array(3), 0))",
                "front(*batch_add(array(3, 2), 0, array(2), None))",
                "front(*batch_add(array(2), None, array(3, 2), 0))",
                "front(*batch_add(array(3, 2), 0, array(2, 3), 1))",
                "front(*batch_add(array(2, 3), 1, array(3), 0))",
                "front(*batch_add(array(3), 0, array(3, 2), 0))",
                "front(*batch_add(array(3), 0, array(3, 3), 0))",
                "front(*batch_add(array(3, 2), 0, array(3, 4, 2), 0))",
                "front(*batch_add(array(3, 3), 1, array(3), None))",
                "front(*batch_add(array(3), None, array(3), 0))",
                "front(*batch_add(array(3, 2, 4), 1, array(2), 0))",
            ]),
            ("front(*batch_add(array(3, 2), 0, array(2), None))", "front(*batch_add(array(3), 0, array(3, 2), 0))"),
        ),
    ),
    after="The fourth of these cases is why `vmap` is not \"let NumPy broadcast\". `primitives/elementwise.py` has this rule once, for all "
    "elementwise operations.",
)  # fmt: skip

EXERCISES = (FLATTEN_EXERCISE, SPREAD_EXERCISE, MAPPED_EXERCISE, SUM_EXERCISE, ADD_EXERCISE)
