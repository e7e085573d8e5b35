"""The exercises of chapter 8."""

from hypothesis import strategies as st

from course.cases import template
from course.chapters.ch08_a_cache_that_you_can_trust.disk import DAMAGES
from course.exercise import Exercise, Property, edit, text

SETUP = """\
from course.chapters.ch08_a_cache_that_you_can_trust.disk import (
    Disk, after_power_cut, asked, damaged, digest, entry_of, finished, two_at_once,
)
"""

# --- 8.1 ---------------------------------------------------------------------------------------------------------

KEY = text("""
    def artifact_key(source, compiler, flags):
        return digest(repr((source, compiler, flags)))
""")
PIECES = template(
    "({source}, {compiler}, {flags})",
    source=st.sampled_from(['"x"', '"xy"']),
    compiler=st.sampled_from(['"z"', '"yz"']),
    flags=st.sampled_from(['("a", "b")', '("b", "a")', '("ab",)', '("a",)', "()"]),
)

KEY_EXERCISE = Exercise(
    id="8.1",
    title="a name for what is compiled",
    objective="You can name a thing by its content.",
    needs=("key", "digest"),
    out_of_scope="how likely it is that two texts have one digest.",
    task="""
The name of a compiled program on the disk is made of all that decides what it is: the C text, the compiler, and its flags in order.
Write `artifact_key(source, compiler, flags)`: a text, equal for two programs if and only if all three are equal. `digest(text)` makes
a short name of a long text. `flags` is a tuple of texts.
""",
    setup=SETUP,
    entry="artifact_key",
    stub=text('''
        def artifact_key(source, compiler, flags):
            """The name of a compiled program."""
            ...
    '''),
    solution=KEY,
    wrong=(
        (
            edit(KEY, ("repr((source, compiler, flags))", 'source + compiler + repr(flags)')),
            "Texts that are put together without a mark between them say the same in two ways: `xy` and `z`, `x` and `yz`.",
        ),
        (
            edit(KEY, ("((source, compiler, flags))", '((source, compiler, "".join(flags)))')),
            "Two flags and one flag that looks like both of them have the same name with you.",
        ),
        (
            edit(KEY, ("((source, compiler, flags))", "((source, compiler))")),
            "The flags decide the machine code, too.",
        ),
        (
            edit(KEY, ("((source, compiler, flags))", "((source, compiler, sorted(flags)))")),
            "The order of flags counts: of two that contradict each other the last one wins.",
        ),
        (
            edit(KEY, ("((source, compiler, flags))", "((source, flags))")),
            "Another compiler makes other machine code of the same text.",
        ),
        (
            edit(KEY, ("((source, compiler, flags))", "((source, compiler, flags, __import__('time').perf_counter_ns()))")),
            "Something is in your key that is new in each call. Then nothing is ever found again.",
        ),
    ),
    hints=(
        "One text that says all three, and from which they could be read back.",
        "`repr` of a tuple puts marks around each part.",
        "`digest(repr((source, compiler, flags)))`",
    ),
    properties=(
        Property(
            "Names are equal if and only if everything is.",
            template("artifact_key(*{x}) == artifact_key(*{y})", x=PIECES, y=PIECES)
            | template("artifact_key(*{x}) == artifact_key(*{x})", x=PIECES)
            | st.sampled_from([
                'artifact_key("xy", "z", ()) == artifact_key("x", "yz", ())',
                'artifact_key("x", "z", ("a", "b")) == artifact_key("x", "z", ("ab",))',
                'artifact_key("x", "z", ("a", "b")) == artifact_key("x", "z", ("b", "a"))',
                'artifact_key("x", "z", ("a",)) == artifact_key("x", "z", ())',
                'artifact_key("x", "z", ()) == artifact_key("x", "yz", ())',
            ]),
            ('artifact_key("x", "z", ("a",)) == artifact_key("x", "z", ("a",))', 'artifact_key("x", "z", ("a",)) == artifact_key("x", "z", ())'),
        ),
    ),
    after="`ArtifactKey` in `tinytrace/runtime/keys.py` has five named fields; `a.diff(b)` says in which two keys differ.",
)  # fmt: skip

# --- 8.2 ---------------------------------------------------------------------------------------------------------

PUT = text("""
    def put(disk, name, content):
        aside = disk.fresh()
        disk.write(aside, content)
        disk.sync(aside)
        disk.rename(aside, name)
""")

PUT_EXERCISE = Exercise(
    id="8.2",
    title="there or not there",
    objective="You can write a file that is never half there.",
    needs=("atomic", "power cut"),
    out_of_scope="to clear away what a power cut leaves behind under another name.",
    task="""
Write `put(disk, name, content)`: at the end the file is there, and whenever the power goes, it is there whole or not at all. A disk
can `write(name, text)`, `sync(name)`, `rename(old, new)` and `delete(name)`; `fresh()` is a name that nobody else uses. What was
written may be torn until it was synced, also if it was renamed since. A rename happens in one step. Other processes put other entries
at the same time.
""",
    setup=SETUP,
    entry="put",
    stub=text('''
        def put(disk, name, content):
            """Puts a file on a disk, whole or not at all."""
            ...
    '''),
    solution=PUT,
    wrong=(
        (
            edit(PUT, ("disk.fresh()", "name"), ("    disk.rename(aside, name)\n", "")),
            "You write under the name where it is looked for. Between the first letter and the last it is neither there nor not there.",
        ),
        (
            edit(PUT, ("    disk.sync(aside)\n", "")),
            "The rename is on the disk before the content is. After a power cut the name is there, and half of the text.",
        ),
        (
            edit(PUT, ("    disk.sync(aside)\n    disk.rename(aside, name)", "    disk.rename(aside, name)\n    disk.sync(name)")),
            "You sync after the rename. Between the two there is a moment that is enough.",
        ),
        (
            edit(PUT, ("disk.fresh()", '"making"')),
            "Every process writes its file in the making under the same name: one of them renames what the other one wrote.",
        ),
        (
            edit(PUT, ("disk.rename(aside, name)", "disk.write(name, disk.read(aside))\n    disk.sync(name)\n    disk.delete(aside)")),
            "You copy at the end. A copy is written letter by letter, like the first.",
        ),
        (
            edit(PUT, ("disk.rename(aside, name)", "disk.write(name, content[:0])\n    disk.sync(name)\n    disk.rename(aside, name)")),
            "You make an empty file first, to have the name. Whoever looks now finds it.",
        ),
    ),
    hints=(
        "Make the file under another name, where nobody looks for it.",
        "When it is whole, and on the disk for certain, rename it.",
        "fresh, write, sync, rename: in this order.",
    ),
    properties=(
        Property(
            "Whenever the power goes, the file is whole or not there.",
            st.integers(1, 7).map("after_power_cut(put, {})".format),
            ("after_power_cut(put, 2)",),
        ),
        Property("At the end it is there, and nothing else.", st.just("finished(put)"), ("finished(put)",)),
        Property(
            "Another process that puts another entry does not disturb it.",
            st.integers(1, 3).map("two_at_once(put, {})".format),
        ),
    ),
    after="`Store.publish` does this with a whole folder: three files are written aside, and one rename makes them an entry.",
)  # fmt: skip

# --- 8.3 ---------------------------------------------------------------------------------------------------------

GET = text("""
    def get(disk, key):
        try:
            name, check, body = disk.read(key).split("\\n", 2)
        except (OSError, ValueError):
            return None
        return body if name == key and check == digest(body) else None
""")

GET_EXERCISE = Exercise(
    id="8.3",
    title="trust nothing that you find",
    objective="You can treat everything unexpected as a miss.",
    needs=("digest", "miss"),
    out_of_scope="somebody who wants to deceive you.",
    task="""
An entry is a text of three parts with line ends between them: its key, the digest of its body, its body, as in
`entry_of("k1", "int x;")`. Write `get(disk, key)`: the body of the entry that lies under that name, or None if it is not there or is
not what it should be. Whatever lies there: no exception, and nothing on the disk is changed.
""",
    setup=SETUP,
    entry="get",
    stub=text('''
        def get(disk, key):
            """The body of an entry, or None if it is not there or not whole."""
            raise NotImplementedError
    '''),
    solution=GET,
    wrong=(
        (
            edit(GET, (" and check == digest(body)", "")),
            "You do not look at the digest. A body in which one letter has changed is loaded and run.",
        ),
        (
            edit(GET, ("name == key and ", "")),
            "The entry is whole, and it is another's: its own key is in its first line.",
        ),
        (
            edit(GET, ("(OSError, ValueError)", "(FileNotFoundError, ValueError)")),
            "Not only missing files raise. One may not be read, one is a folder: misses as well.",
        ),
        (
            edit(GET, ("(OSError, ValueError)", "OSError")),
            "An empty or cut text has no three lines, and taking it apart raises.",
        ),
        (
            edit(GET, ("return body if name == key and check == digest(body) else None",
                       "if name == key and check == digest(body):\n        return body\n    disk.delete(key)\n    return None")),
            "You delete what you do not understand. It may be somebody else's.",
        ),
        (
            edit(GET, ("return body if", "return disk.read(key) if")),
            "You give back the whole entry. Asked for was its body.",
        ),
    ),
    hints=(
        '`disk.read(key).split("\\n", 2)` has three parts, or taking it apart raises a ValueError.',
        "Everything that reading can raise is an OSError.",
        "Two comparisons decide: the key in it is the key asked for, the digest in it is that of the body.",
    ),
    properties=(
        Property(
            "The body if all is well, else None; the disk stays as it is.",
            st.sampled_from([f'disk = damaged("{kind}")\n[get(disk, "k1"), disk.names()]' for kind in DAMAGES]),
            ('get(damaged("nothing"), "k1")', 'get(damaged("cut in half"), "k1")'),
        ),
    ),
    after="A damaged shared object is worse than a damaged text: `dlopen` of it ends the process, and no `except` helps. So tinytrace "
    "compares the digest before each load.",
)  # fmt: skip

# --- 8.4 ---------------------------------------------------------------------------------------------------------

EVICT = text("""
    def evict(entries, limit):
        ours = sorted((used, name, size) for name, size, used, mine in entries if mine)
        total = sum(size for _, _, size in ours)
        gone = []
        for _, name, size in ours:
            if total <= limit:
                break
            gone.append(name)
            total -= size
        return gone
""")


@st.composite
def folders(draw):
    """Up to five entries with different times of use, and a limit, as text."""
    times = draw(st.permutations(range(1, 6)))
    count = draw(st.integers(1, 5))
    rows = [(name, draw(st.integers(1, 4)), time, draw(st.sampled_from([True, True, True, False])))
            for name, time in zip("abcde"[:count], times, strict=False)]  # fmt: skip
    return f"evict({rows}, {draw(st.integers(0, 8))})"


EVICT_EXERCISE = Exercise(
    id="8.4",
    title="making room",
    objective="You can clear a folder without taking what is not yours.",
    needs=("key",),
    out_of_scope="entries that somebody is using right now.",
    task="""
An entry is `(name, size, used, mine)`: its size, when it was used last (larger is later), and whether the cache wrote it. Write
`evict(entries, limit)`: the names to delete, in order, so that what the cache wrote has at most `limit` together. Those that were not
used for longest go first, no more than must; what the cache did not write is not counted and not touched.
""",
    setup=SETUP,
    entry="evict",
    stub=text('''
        def evict(entries, limit):
            """The names of the entries to delete."""
            ...
    '''),
    solution=EVICT,
    wrong=(
        (
            edit(EVICT, (" if mine)", ")")),
            "You delete, or count, files that are not yours. Somebody may have chosen the wrong folder.",
        ),
        (
            edit(EVICT, ("for _, name, size in ours:", "for _, name, size in ours[::-1]:")),
            "What was used just now goes first with you. It is the one that is most likely asked for again.",
        ),
        (
            edit(EVICT, ("for _, name, size in ours:", "for _, name, size in sorted(ours, key=lambda entry: -entry[2]):")),
            "The largest go first with you. They also cost most to make again; the order asked for is by use.",
        ),
        (
            edit(EVICT, ("total <= limit", "total < limit")),
            "At most `limit` may stay: if it is just that, nothing must go.",
        ),
        (
            edit(EVICT, ("        if total <= limit:\n            break\n", ""), ("gone = []", "gone = []\n    if total <= limit:\n        return []")),
            "If it is too much, you delete everything. Some would have been enough.",
        ),
        (
            edit(EVICT, ("total -= size", "total -= 1")),
            "A deleted entry frees its size, not one.",
        ),
    ),
    hints=(
        "First leave out what is not yours; then sort by the time of last use.",
        "Add up the sizes; go through the sorted entries and delete until it fits.",
        "Look before each one whether the rest fits already.",
    ),
    properties=(
        Property(
            "As few as needed, the longest unused first, none of others.",
            folders(),
            ('evict([("a", 2, 3, True), ("b", 2, 1, True), ("c", 2, 2, True)], 4)', 'evict([("a", 9, 1, False), ("b", 2, 2, True)], 4)'),
        ),
    ),
    after="`sweeping.py` does this, with a lock for what is in use. The folder is marked with a file, so that a store in the wrong place "
    "deletes nothing.",
)

# --- 8.5 ---------------------------------------------------------------------------------------------------------

FIND = text("""
    def find(key, memory, shelf, compile):
        if key in memory:
            return memory[key]
        try:
            program = shelf.get(key)
        except OSError:
            program = None
        if program is None:
            program = compile(key)
            try:
                shelf.put(key, program)
            except OSError:
                pass
        memory[key] = program
        return program
""")

FIND_EXERCISE = Exercise(
    id="8.5",
    title="the ladder",
    objective="You can write a cache whose failures cost time and nothing else.",
    needs=("hit", "miss"),
    out_of_scope="warnings, threads.",
    task="""
Write `find(key, memory, shelf, compile)`: the program of a key. First look into the dictionary `memory`; then ask `shelf.get(key)`,
which is None if it has none; then `compile(key)`, and `shelf.put(key, program)`. Whatever is found or made is in memory afterwards.
Both methods of the shelf may raise an OSError: then go on without it. If it does not compile, the caller must hear of it.
""",
    setup=SETUP,
    entry="find",
    stub=text('''
        def find(key, memory, shelf, compile):
            """The program of a key: from memory, from the shelf, or compiled now."""
            ...
    '''),
    solution=FIND,
    wrong=(
        (
            edit(FIND, ("    try:\n        program = shelf.get(key)\n    except OSError:\n        program = None", "    program = shelf.get(key)")),
            "The disk cannot be read, and the user gets an error. He asked for a program; it can be compiled.",
        ),
        (
            edit(FIND, ("        try:\n            shelf.put(key, program)\n        except OSError:\n            pass", "        shelf.put(key, program)")),
            "The disk is full, and the program that was just made is thrown away.",
        ),
        (
            edit(FIND, ("        memory[key] = program\n    return program".replace("        ", "    ", 1), "    return program")),
            "Nothing ever gets into the memory: each call goes to the disk.",
        ),
        (
            edit(FIND, ("        try:\n            shelf.put(key, program)\n        except OSError:\n            pass\n", "")),
            "Nothing is put on the shelf: the next process compiles it all again.",
        ),
        (
            edit(FIND, ("        program = compile(key)", "        try:\n            program = compile(key)\n        except Exception:\n            return None")),
            "A program that does not compile becomes None, and the user hears nothing.",
        ),
        (
            edit(FIND, ("    if program is None:\n        program = compile(key)", "    if program is None or True:\n        program = compile(key)")),
            "You compile also what the shelf had.",
        ),
    ),
    hints=(
        "Three places in order, each asked only if the one before has nothing.",
        "An OSError of the shelf counts as \"has nothing\", or, when putting, as \"never mind\".",
        "Put what you have into the memory at the end, wherever it came from.",
    ),
    properties=(
        Property(
            "The right program, each place asked when it should be, and no failure but that of the compiler.",
            template(
                'asked(find, "{keys}", on_disk="{on_disk}", broken="{broken}")',
                keys=st.sampled_from(["a", "a a", "a b a", "bad", "a bad"]),
                on_disk=st.sampled_from(["", "a", "a b"]),
                broken=st.sampled_from(["", "get", "put", "get put"]),
            ),
            ('asked(find, "a a")', 'asked(find, "a", on_disk="a")'),
        ),
    ),
    after="`runtime/ladder.py` has one more rung at the end: without a compiler the interpreter runs the program. Each step down says so "
    "once.",
)  # fmt: skip

EXERCISES = (KEY_EXERCISE, PUT_EXERCISE, GET_EXERCISE, EVICT_EXERCISE, FIND_EXERCISE)
