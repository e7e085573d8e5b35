"""Names in C: none is a word of C, and none is given twice."""

import subprocess

from tinytrace.codegen.plan.names import Names
from tinytrace.codegen.plan.reserved import is_word
from tinytrace.core.printer import letters


def test_letters_that_mean_something_in_c_get_a_number():
    names = Names()
    given = [names.fresh(letters(k)) for k in range(26**3)]
    assert len(set(given)) == len(given)
    assert not any(map(is_word, given))
    assert {"do_1", "if_1", "int_1", "for_1", "new_1", "exp_1", "yn_1", "end_1"} <= set(given)
    for word in ("bool", "true", "lane", "y0"):
        assert Names().fresh(word) == f"{word}_1"


def test_words_are_all_that_a_compiler_refuses():
    """Of names of three letters, in the newest C that it knows."""
    candidates = [name for k in range(26, 26**3) if not is_word(name := letters(k))]
    program = "void f(void) {\n" + "".join(f"    int {name} = 0; (void){name};\n" for name in candidates) + "}\n"
    subprocess.run(["cc", "-std=gnu2x", "-fsyntax-only", "-x", "c", "-"], input=program, text=True, check=True)
