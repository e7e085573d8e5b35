"""The exercises of chapter 4."""

from hypothesis import strategies as st

from course.cases import template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch04_what_is_in_a_cache_key.keys import Params, counted, leaf_type
from tinytrace.tree_util import tree_flatten
"""
VALUES = ("1.0", "2.5", "1", "True", "jnp.zeros(3)", "jnp.ones(3)", "jnp.arange(3)", "jnp.ones(4)", "jnp.ones((3, 1))")
LEAVES = st.sampled_from(VALUES)
ARGUMENTS = LEAVES | st.one_of(
    LEAVES.map("[{}]".format),
    LEAVES.map("({},)".format),
    st.tuples(st.sampled_from("ab"), LEAVES).map(lambda kv: f'{{"{kv[0]}": {kv[1]}}}'),
    st.tuples(LEAVES, st.sampled_from("23")).map(lambda x: f"Params({x[0]}, {x[1]})"),
)

# --- 4.1 ---------------------------------------------------------------------------------------------------------

KEY = text("""
    def call_key(*args):
        leaves, structure = tree_flatten(args)
        return structure, tuple(leaf_type(x) for x in leaves)
""")

KEY_EXERCISE = Exercise(
    id="4.1",
    title="a key for a call",
    objective="You can say which calls share a program.",
    needs=("key", "hit", "weak type"),
    out_of_scope="static arguments and keywords.",
    task="""
Write `call_key(*args)`: something hashable that is equal for two calls if and only if one compiled program serves both. A
program depends on the structure of the arguments and on the type of each leaf, weak types apart from strong ones; not on values.
`tree_flatten(args)` gives leaves and structure, `leaf_type(x)` a leaf's type in words.
""",
    setup=SETUP,
    entry="call_key",
    stub=text('''
        def call_key(*args):
            """Equal for two calls if and only if they share a program."""
            ...
    '''),
    solution=KEY,
    wrong=(
        (
            edit(KEY, ("leaf_type(x) for x in leaves", "repr(x) for x in leaves")),
            "Values are in your key. Then every new number is a miss, and compiled again.",
        ),
        (
            edit(KEY, ("return structure, tuple", "return tuple")),
            "The structure is missing. `[x]` and `(x,)` have the same leaves, and the function sees the difference.",
        ),
        (
            edit(KEY, ("leaf_type(x) for", 'leaf_type(x).split("[")[1] for')),
            "The dtype is missing: the program for floats would be called with integers.",
        ),
        (
            edit(KEY, ("leaf_type(x) for", 'leaf_type(x).split("[")[0] for')),
            "The shape is missing: a loop over 3 elements would be called with 4.",
        ),
        (
            edit(KEY, ("leaf_type(x) for", 'leaf_type(x).rstrip("~") for')),
            "Weak and strong types are not told apart: `x + y` may have another dtype.",
        ),
        (
            edit(KEY, ("leaf_type(x) for", "type(x).__name__ for")),
            "The Python class says little: all arrays have the same one, whatever their shape and dtype.",
        ),
    ),
    hints=(
        "Take the arguments apart first: `leaves, structure = tree_flatten(args)`.",
        "Of each leaf only its type matters.",
        "A tuple of the structure and of a tuple of types is hashable.",
    ),
    properties=(
        Property(
            "Keys are equal if and only if the calls share a program.",
            template("call_key({x}) == call_key({y})", x=ARGUMENTS, y=ARGUMENTS)
            | st.tuples(LEAVES, LEAVES, st.sampled_from(["[{}]", "({},)", "Params({}, 2)"])).map(
                lambda t: f"call_key({t[2].format(t[0])}) == call_key({t[2].format(t[1])})"
            )
            | template("call_key([{x}]) == call_key(({x},))", x=LEAVES)
            | st.just("call_key(1.0) == call_key(jnp.float32(1.0))")
            # Both keys are there at the same time: Python may give a new object the address, and with it the hash, of
            # one that is gone.
            | template("{{call_key({x}): 'its program'}}.get(call_key({x}))", x=ARGUMENTS),
            ("call_key(1.0) == call_key(2.5)", "call_key([1.0]) == call_key((1.0,))"),
        ),
    ),
    after="`LookupKey` in `tinytrace/api/jit_cache.py` has these two fields and the static values. `f._cache_size()` is how many keys there are.",
    clues=("call_key(1.0) == call_key(1)", "call_key(jnp.ones(3)) == call_key(jnp.ones(4))", 'call_key({"a": 1.0}) == call_key({"b": 1.0})'),
)

# --- 4.2 ---------------------------------------------------------------------------------------------------------

CACHED = text("""
    def cached(make, key):
        programs = {}

        def call(*args):
            k = key(*args)
            if k not in programs:
                programs[k] = make(*args)
            return programs[k](*args)

        return call
""")


@st.composite
def call_sequences(draw, setup, make):
    calls = [f"f({draw(st.sampled_from(['1', '2', '1.0', '2.0']))}, {draw(st.integers(1, 2))})"
             for _ in range(draw(st.integers(1, 4)))]  # fmt: skip
    return f"{setup}f = {make}\n[{', '.join(calls)}, made]"


MADE = text("""
    made = []

    def make(*args):
        made.append(type(args[0]).__name__)
        return lambda x, y: (x, y)

""")

CACHED_EXERCISE = Exercise(
    id="4.2",
    title="a cache around a compiler",
    objective="You can put a cache in front of anything slow.",
    needs=("key", "hit", "miss"),
    out_of_scope="threads, and how large the cache becomes.",
    task="""
Write `cached(make, key)`: a function that, for arguments with a new `key(*args)`, asks `make(*args)` for a program, once; and calls
the program of that key with its arguments. `make` is slow: on a hit it must not be called.
""",
    setup=SETUP + MADE,
    entry="cached",
    stub=text('''
        def cached(make, key):
            """A function that makes a program for each key, and calls it."""
            programs = {}

            def call(*args):
                ...

            return call
    '''),
    solution=CACHED,
    wrong=(
        (
            edit(CACHED, ("        if k not in programs:\n            programs[k] = make(*args)", "        programs[k] = make(*args)")),
            "`make` is called each time. The cache is written and never read.",
        ),
        (
            edit(CACHED, ("programs[k] = make(*args)", "programs[k] = make")),
            "The compiler itself is kept, and asked again in each call; what it makes is returned and never called.",
        ),
        (
            edit(CACHED, ("return programs[k](*args)", "return programs[k]")),
            "The program is returned. The caller wanted what it computes.",
        ),
        (
            edit(
                CACHED,
                ("programs[k] = make(*args)\n        return programs[k](*args)", "programs[k] = make(*args)(*args)\n        return programs[k]"),
            ),
            "Results are kept instead of programs: other values with the same key get the old answer.",
        ),
        (
            edit(CACHED, ("if k not in programs:", "if not programs:"), ("return programs[k](*args)", "return programs.get(k, next(iter(programs.values())))(*args)")),
            "Only the first program is made, and every later key gets it.",
        ),
        (
            edit(CACHED, ("k = key(*args)", "k = args")),
            "Arguments are compared instead of keys: `1` and `2` would share a program if you asked `key`.",
        ),
    ),
    hints=(
        "The dictionary lives as long as the function that you return: make it outside of `call`.",
        "In `call`: compute the key, make a program if there is none for it, call the program.",
        "`if k not in programs: programs[k] = make(*args)`.",
    ),
    properties=(
        Property(
            "Programs are made once for each key, and called each time.",
            call_sequences("made.clear()\n", "cached(make, lambda x, y: type(x).__name__)"),
            ("made.clear()\nf = cached(make, lambda x, y: type(x).__name__)\n[f(1, 2), f(3, 4), f(1.0, 2), made]",),
        ),
    ),
    after="Everything else about a cache is what goes wrong: keys that forget something (exercise 4.1), entries that nobody drops (4.4), "
    "and files that are damaged (chapter 8).",
)

# --- 4.3 ---------------------------------------------------------------------------------------------------------

STATIC = text("""
    def split_key(args, static):
        statics = tuple((i, args[i]) for i in static)
        dynamic = [x for i, x in enumerate(args) if i not in static]
        leaves, structure = tree_flatten(dynamic)
        return statics, structure, tuple(leaf_type(x) for x in leaves)
""")

STATIC_EXERCISE = Exercise(
    id="4.3",
    title="static arguments",
    objective="You can predict what a static argument costs.",
    needs=("key", "static argument"),
    out_of_scope="static arguments that cannot be hashed.",
    task="""
Write `split_key(args, static)`: the key of a call with arguments `args`, of which those at the positions in the tuple `static` are
static. A static argument is in the key with its *value*; all others with structure and type.
""",
    setup=SETUP,
    entry="split_key",
    stub=text('''
        def split_key(args, static):
            """Equal for two calls if and only if they share a program."""
            ...
    '''),
    solution=STATIC,
    wrong=(
        (
            edit(STATIC, ("return statics, structure", "return structure")),
            "Static values are not in the key: `flag=False` would run the program of `flag=True`.",
        ),
        (
            edit(STATIC, ("(i, args[i]) for i", "(i, leaf_type(args[i])) for i")),
            "Of a static argument the value counts, not the type: Python used the value while tracing.",
        ),
        (
            edit(STATIC, (" if i not in static]", "]"), ("leaf_type(x) for", "(leaf_type(x), repr(x)) for")),
            "Now all values are in the key, those of the others too.",
        ),
        (
            edit(STATIC, ("(i, args[i]) for i in static", "hash(args[i]) % 2 for i in static")),
            "A part of a hash is not a value: two static values that agree in it are taken for one.",
        ),
        (
            edit(STATIC, ("dynamic = [x for i, x in enumerate(args) if i not in static]", "dynamic = []")),
            "The arguments that are not static count too, with their types.",
        ),
    ),
    hints=(
        "Sort the arguments in two groups by their position.",
        "The first group goes into the key as it is, the second as in exercise 4.1.",
        "`statics = tuple((i, args[i]) for i in static)`.",
    ),
    properties=(
        Property(
            "Static arguments count by value, all others by type.",
            template(
                "split_key(({x}, {n}), (1,)) == split_key(({y}, {m}), (1,))",
                x=st.sampled_from(["1.0", "2.0", "1", "jnp.ones(3)"]),
                y=st.sampled_from(["1.0", "2.0", "1", "jnp.ones(3)"]),
                n=st.sampled_from(["0", "1", "2", "3", "2.5"]),
                m=st.sampled_from(["0", "1", "2", "3", "2.5"]),
            ),
            ("split_key((1.0, 2), (1,)) == split_key((3.0, 2), (1,))", "split_key((1.0, 2), (1,)) == split_key((1.0, 3), (1,))"),
        ),
    ),
    after="A static argument buys Python's `if` and `range` for one program per value. A flag is cheap; a step counter is ruinous.",
)

# --- 4.4 ---------------------------------------------------------------------------------------------------------

LRU = text("""
    def recent(size, keys):
        cache, hits = [], []
        for key in keys:
            hits.append(key in cache)
            if key in cache:
                cache.remove(key)
            cache.append(key)
            if len(cache) > size:
                cache.pop(0)
        return hits
""")

LRU_EXERCISE = Exercise(
    id="4.4",
    title="a cache with a limit",
    objective="You can say what a cache with a limit forgets.",
    needs=("key", "hit", "miss"),
    out_of_scope="speed: a list will do.",
    task="""
A cache that never forgets fills the memory. Write `recent(size, keys)`: for each key in turn, whether it is a hit in a cache that
keeps at most `size` keys. When it is full, it drops the one that was not *used* for the longest time.
""",
    setup=SETUP,
    entry="recent",
    stub=text('''
        def recent(size, keys):
            """A list of booleans, one for each key: is it a hit?"""
            ...
    '''),
    solution=LRU,
    wrong=(
        (
            edit(LRU, ("        if key in cache:\n            cache.remove(key)\n        cache.append(key)", "        if key not in cache:\n            cache.append(key)")),
            "You drop what *came in* first. A hit is a use: it makes a key young again.",
        ),
        (edit(LRU, ("cache.pop(0)", "cache.pop()")), "The newest key is dropped, the one that was asked for just now."),
        (edit(LRU, ("cache.pop(0)", "cache.clear()")), "When it is full, everything is dropped; one key is enough."),
        (edit(LRU, ("> size", ">= size")), "There is room for one more: `size` keys may stay."),
        (edit(LRU, ("            if len(cache) > size:\n            cache.pop(0)\n".replace("            if", "        if"), "")), "Nothing is ever dropped."),
        (edit(LRU, ("hits.append(key in cache)", "hits.append(key not in cache)")), "Hits and misses are exchanged."),
    ),
    hints=(
        "Keep the keys in a list, the one that was used last at the end.",
        "On a hit, take the key out and put it back at the end.",
        "If the list has become longer than `size`, drop its first element.",
    ),
    properties=(
        Property(
            "It hits what was used lately.",
            template(
                "recent({size}, {keys})",
                size=st.integers(1, 3).map(str),
                keys=st.lists(st.sampled_from("abcd"), min_size=1, max_size=8).map(lambda keys: repr("".join(keys))),
            ),
            ('recent(2, "abacb")', 'recent(1, "aab")'),
        ),
    ),
    after="The name is *LRU*, least recently used. Twice the size never makes an LRU cache worse; of the one that drops what came in "
    "first this is not true.",
)

# --- 4.5 ---------------------------------------------------------------------------------------------------------

EXPLAIN = text("""
    def explain_miss(old, new):
        (old_leaves, old_structure), (new_leaves, new_structure) = tree_flatten(old), tree_flatten(new)
        if old_structure != new_structure:
            return ["the structure changed"]
        types = [(leaf_type(a), leaf_type(b)) for a, b in zip(old_leaves, new_leaves)]
        return [f"leaf {i}: {a} became {b}" for i, (a, b) in enumerate(types) if a != b]
""")

EXPLAIN_EXERCISE = Exercise(
    id="4.5",
    title="why did it compile again?",
    objective="You can find out why a call was a miss.",
    needs=("key", "miss", "weak type"),
    out_of_scope="static arguments, and which of many earlier calls to compare with.",
    task="""
Write `explain_miss(old, new)`: what distinguishes a call with arguments `new` from an earlier one with `old` (both are tuples). If
the structures differ, `["the structure changed"]`. Otherwise one text for each leaf whose type differs, `"leaf 0: f32[3] became
f32[4]"`. If it is a hit, the list is empty.
""",
    setup=SETUP,
    entry="explain_miss",
    stub=text('''
        def explain_miss(old, new):
            """A list of texts, one for each difference that matters."""
            ...
    '''),
    solution=EXPLAIN,
    wrong=(
        (
            edit(EXPLAIN, ("if a != b]", "]")),
            "Leaves that did not change are listed too.",
        ),
        (
            edit(EXPLAIN, ("{a} became {b}", "{b} became {a}")),
            "The direction is wrong: what was comes first.",
        ),
        (
            edit(EXPLAIN, ('    if old_structure != new_structure:\n        return ["the structure changed"]\n', "")),
            "Another structure with the same leaves is a miss, too, and you say nothing.",
        ),
        (
            edit(EXPLAIN, ("return [f\"leaf", "return [f\"leaf"), ("if a != b]", "if a != b][:1]")),
            "There may be several reasons: list them all.",
        ),
        (
            edit(EXPLAIN, ("leaf_type(a), leaf_type(b)", 'leaf_type(a).rstrip("~"), leaf_type(b).rstrip("~")')),
            "A weak type that became strong is a miss, and you see no reason.",
        ),
        (
            edit(EXPLAIN, ("leaf_type(a), leaf_type(b)", "repr(a), repr(b)")),
            "Values are compared. They may change as they like.",
        ),
    ),
    hints=(
        "Take both apart, and compare the structures first.",
        "If they agree, the leaves stand side by side: `zip(old_leaves, new_leaves)`.",
        "Compare `leaf_type(a)` with `leaf_type(b)`, and number the pairs.",
    ),
    properties=(
        Property(
            "It names every difference that matters, and no other.",
            template("explain_miss(({x}, {y}), ({v}, {w}))", x=LEAVES, y=LEAVES, v=LEAVES, w=LEAVES)
            | template("explain_miss(({x},), ({y},))", x=ARGUMENTS, y=ARGUMENTS)
            | template("explain_miss(([{x}],), (({x},),))", x=LEAVES)
            | st.just("explain_miss((1.0,), (jnp.float32(1.0),))"),
            ("explain_miss((1.0, jnp.ones(3)), (2.0, jnp.ones(4)))", "explain_miss(([1],), ((1,),))"),
        ),
    ),
    after="An empty list for a miss would be the worst answer, and is the one that most tools give. Chapter 8 goes on from here.",
    clues=("explain_miss((1.0,), (jnp.float32(1.0),))",),
)

EXERCISES = (KEY_EXERCISE, CACHED_EXERCISE, STATIC_EXERCISE, LRU_EXERCISE, EXPLAIN_EXERCISE)
