"""Which flags a compiler gets, by what it says of itself."""

import pytest

from tinytrace.codegen.effort import LEAST_EFFORT, LESS_EFFORT
from tinytrace.runtime.flags import EVERY, OWN, family, own_flags, quick_flags, remedy_for


@pytest.mark.parametrize(("identity", "expected"), [
    ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0, x86_64-linux-gnu", ("gcc", 12)),
    ("gcc-11 (Debian 11.3.0-12) 11.3.0, x86_64-linux-gnu", ("gcc", 11)),
    ("gcc (GCC) 13.2.1 20231205 (Red Hat 13.2.1-6), x86_64-redhat-linux", ("gcc", 13)),
    ("x86_64-conda-linux-gnu-cc (conda-forge gcc 12.3.0-3) 12.3.0, x86_64-conda-linux-gnu", ("gcc", 12)),
    ("cc (GCC) 14.1.0, aarch64-linux-gnu", ("gcc", 14)),
    ("Debian clang version 14.0.6, x86_64-pc-linux-gnu", ("clang", 14)),
    ("Apple clang version 15.0.0 (clang-1500.3.9.4), arm64-apple-darwin23.4.0", ("clang", 15)),
    ("clang version 18.1.8 (https://github.com/llvm/llvm-project.git 3b5b5c1ec4a3), x86_64", ("clang", 18)),
    ("some compiler, machine, programs 00ff", ("gcc", 0)),
    ("gcc (GCC) 12.3.0, x86_64-linux-gnu, programs 12.5", ("gcc", 12)),
])
def test_a_compiler_is_known_by_what_it_says(identity, expected):
    assert family(identity) == expected
    assert set(OWN[expected[0]]) <= set(own_flags(identity))


def test_a_family_gets_no_flags_of_another():
    assert not {"-ftree-loop-vectorize", "-fno-thread-jumps"} & set(own_flags("clang version 16.0.6, x86_64"))
    assert "-mllvm" not in own_flags("gcc (Debian 12.2.0) 12.2.0, x86_64")
    assert quick_flags("clang version 16.0.6, x86_64", LESS_EFFORT) == ()
    assert quick_flags("gcc (GCC) 12.2.0, x86_64", LESS_EFFORT)[0] == "-O1"
    assert quick_flags("clang version 16.0.6, x86_64", LEAST_EFFORT) == ("-O0",)


def test_the_stamp_of_a_compiler_covers_all_flags():
    assert set(own_flags("gcc 0, x")) | set(own_flags("clang version 14.0.0, x86_64")) <= set(EVERY)


def test_what_is_missing_has_a_remedy_of_its_own():
    assert "set CC to gcc or clang" in remedy_for("tcc: error: invalid option -- '-fvect-cost-model=dynamic'")
    assert "read what the compiler printed" in remedy_for("internal compiler error")
