"""The predictions of chapter 8."""

from course.chapters.ch08_a_cache_that_you_can_trust.exercises import SETUP
from course.exercise import Prediction, text

PREDICTIONS = (
    Prediction(
        id="8.p1",
        question="Is the digest of `source + compiler` the same for these two pairs?",
        setup=SETUP,
        program="""digest("int x;" + "gcc 12") == digest("int x;g" + "cc 12")""",
        because="A digest says whether two texts are the same text. That they came of different parts is lost before it looks.",
    ),
    Prediction(
        id="8.p2",
        question="A program writes a file in place and then syncs it. The power goes at its first, second, third operation; the third is "
        "none any more. In which cases is the file torn? A list of three booleans.",
        setup=SETUP,
        program=text("""
            def in_place(disk, name, content):
                disk.write(name, content)
                disk.sync(name)


            [after_power_cut(in_place, n) == "torn" for n in (1, 2, 3)]
        """),
        because="Before the write there is nothing, after the sync everything is safe. The second is the moment between.",
    ),
    Prediction(
        id="8.p3",
        question="Write aside, rename, done: yet after a power cut half a file is there under the right name. Why?",
        setup=SETUP,
        program=text("""
            def put(disk, name, content, sync=False):
                aside = disk.fresh()
                disk.write(aside, content)
                if sync:
                    disk.sync(aside)
                disk.rename(aside, name)


            def torn(put, cuts=range(1, 6)):
                return any(after_power_cut(put, n) == "torn" for n in cuts)
        """),
        because="A name and a content are different blocks of a disk, and they are not written in the order of your program unless you ask.",
        reasons=(
            ("A rename copies the file.", "torn(lambda disk, name, content: put(disk, name, content, sync=True), [4])"),
            (
                "The new name can reach the disk before the content does.",
                "torn(put) and not torn(lambda disk, name, content: put(disk, name, content, sync=True))",
            ),
            ("The power went while the rename was half done.", "torn(put, [2])"),
        ),
    ),
    Prediction(
        id="8.p4",
        question="Two processes write aside under the name `making`, then rename. One of them fails. Why?",
        setup=SETUP,
        program=text("""
            def put(disk, name, content, aside="making"):
                disk.write(aside, content)
                disk.sync(aside)
                disk.rename(aside, name)


            def fails(put):
                try:
                    return two_at_once(put, 2) != {"entry": "int x;", "other": "int y;"}
                except FileNotFoundError:
                    return True
        """),
        because="The one renames what the other one wrote, and the other one then finds nothing to rename. A name in the making belongs to "
        "one maker only.",
        reasons=(
            ("Both want the same entry.", "not fails(put)"),
            (
                "They share the name of the file in the making.",
                "fails(put) and not fails(lambda disk, name, content: put(disk, name, content, disk.fresh()))",
            ),
            ("A disk can do one rename at a time.", "fails(lambda disk, name, content: put(disk, name, content, 'making ' + name))"),
        ),
    ),
    Prediction(
        id="8.p5",
        question="An entry's digest is that of its body, and still it must not be used. Why?",
        setup=SETUP,
        program=text("""
            key, check, body = damaged("another's").read("k1").split("\\n", 2)
        """),
        because="A checksum proves that nothing has changed since it was computed. What the thing is, only its key says.",
        reasons=(
            ("The digest is too short.", "len(check) != len(digest('anything'))"),
            ("It is whole, and it is the entry of another key.", "check == digest(body) and key != 'k1'"),
            ("The body was changed after the digest was computed.", "check != digest(body)"),
        ),
    ),
    Prediction(
        id="8.p6",
        question="Two keys of compiled programs: the same text, compiler and processor; one was compiled with `-O3`. In which fields do "
        "they differ? A list.",
        setup=SETUP + "from tinytrace.runtime.keys import ArtifactKey\n",
        program=text("""
            one = ArtifactKey("00ff", "gcc 12", ("-O2",), 1, "x86_64")
            [row.path for row in one.diff(ArtifactKey("00ff", "gcc 12", ("-O3",), 1, "x86_64"))]
        """),
        because="A key with named fields can say why a program was not found. A digest alone can only say that it was not.",
    ),
)
