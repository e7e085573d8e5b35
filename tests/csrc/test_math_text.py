"""The text of csrc/math: a function names what it uses; loops over the functions become vector code."""

import pathlib
import platform
import re
import shutil
import subprocess

import pytest

from tinytrace.csources import host_source, math_functions, math_source
from tinytrace.runtime.flags import own_flags
from tinytrace.runtime.probe import probe

HEADING = re.compile(r"^/\* tt: (\w+); needs: ([^*;]*)(?:; ([^*;]+))?\*/\n", re.MULTILINE)
CHOICES = re.compile(r"\?[^;]*\?|\) == \(")
ELEMENTWISE = re.compile(r"^static inline (float|double) tt_\w+\(\1 \w+(?:, \1 \w+)*\) \{", re.MULTILINE)
NAME = re.compile(r"\btt_\w+")
LOOPS = {"tt_igamma", "tt_igammac", "tt_igamma_grad_a", "tt_random_gamma_grad", "tt_betainc", "tt_zeta", "tt_polygamma"}
"""Functions whose number of steps depends on the element."""


def functions():
    """Name, needed names, what is said besides, and text of every function, in the order of the files."""
    for source in math_source().values():
        _, *pieces = HEADING.split(source)
        for name, needs, words, text in zip(*(pieces[k::4] for k in range(4)), strict=True):
            yield name, needs, (words or "").strip().split(", "), text


def code(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


FUNCTIONS = {name: (set(NAME.findall(needs)), code(text)) for name, needs, _, text in functions()}
SAID = {name: set(words) - {""} for name, _, words, _ in functions()}
LONG = {name for name, words in SAID.items() if "long" in words}


def test_what_is_used_is_needed():
    for name, (needs, text) in FUNCTIONS.items():
        used = (set(NAME.findall(text)) & FUNCTIONS.keys()) - {name}
        assert used <= needs <= FUNCTIONS.keys(), name  # a function may need another one's types without calling it


def statements(name):
    """How many statements a function has, with those that it calls inlined."""
    needs, text = FUNCTIONS[name]
    return text.count(";") + sum(map(statements, needs))


def test_long_functions_say_so():
    elementwise = {name for name, (_, text) in FUNCTIONS.items() if ELEMENTWISE.search(text)}
    assert {name for name in elementwise if statements(name) >= 14} == LONG


def test_functions_that_choose_among_choices_say_so():
    chooses = {name for name, (_, text) in FUNCTIONS.items() if CHOICES.search(text.partition("static inline ")[2])}
    assert chooses == {name for name, words in SAID.items() if "chooses" in words}


def test_every_function_is_headed():
    assert set().union(*SAID.values()) == {"long", "of rows", "chooses"}
    texts = "\n".join(math_source().values())
    assert set(re.findall(r"^static inline .*?\b(tt_\w+)\(", texts, re.MULTILINE)) <= FUNCTIONS.keys()


def test_only_what_is_used_is_pasted_each_after_what_it_needs():
    text = math_functions({"tt_logistic_f32": 1})
    defined = re.findall(r"^static inline \w+ (tt_\w+)\(", text, re.MULTILINE)
    assert set(defined) == {"tt_bits_f32", "tt_float_f32", "tt_fma_f32", "tt_exp_times_f32", "tt_exp_f32",
                            "tt_logistic_f32"}
    for k, name in enumerate(defined):
        assert FUNCTIONS[name][0] <= set(defined[:k])


NUMBER = r"(?:float|double|u?int(?:32|64)_t)"
SIGNATURE = re.compile(rf"^static inline ({NUMBER}) (tt_\w+)\(((?:{NUMBER} \w+(?:, )?)+)\) \{{", re.MULTILINE)


REPORTS = {"gcc": ("-fopt-info-vec-optimized", r"<stdin>:(\d+):\d+: optimized: loop vectorized"),
           "clang": ("-Rpass=loop-vectorize", r"<stdin>:(\d+):\d+: remark: vectorized loop")}
WITHOUT_AVX512 = re.compile(r"^(?!.*_(?:popcount_|clz_|(?:div|rem)_[iu]32\()).*int|_turns_f64|_wide_f64")
"""What is no loop of vectors on other CPUs: conversions and products of whole numbers; large angles, which take
products of 64 bits and a table."""


@pytest.mark.slow
@pytest.mark.parametrize("bits", ["32", "64"])
@pytest.mark.parametrize("compiler", REPORTS)
@pytest.mark.parametrize("cpu", ["native", "skylake-avx512", "x86-64-v3"])
def test_loops_are_vectorised(cpu, compiler, bits, tmp_path):
    command = next(filter(None, map(shutil.which, [compiler, *(f"{compiler}-{k}" for k in range(30, 11, -1))])), None)
    if command is None:
        pytest.skip(f"there is no {compiler} to ask what it vectorised")
    if cpu == "native" and "avx512" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("64-bit integers and their conversions have few vector instructions here")
    if cpu != "native" and platform.machine() != "x86_64":
        pytest.skip(f"the compiler writes nothing for {cpu}")
    found = [match for _, text in FUNCTIONS.values() for match in SIGNATURE.finditer(text)]
    wanted = [(kind, name, arguments.split(", ")) for kind, name, arguments in (match.groups() for match in found)
              if name.endswith(bits) and name.removesuffix(f"_f{bits}") not in LOOPS and "rem_f" not in name
              and not re.search(r"powi|reduce_precision|div_[iu]64|rem_[iu]64|gamma_|reciprocal_", name)
              and (cpu != "x86-64-v3" or not WITHOUT_AVX512.search(f"{kind} {name}({arguments})"))]
    assert len(wanted) > 40
    lines = []
    for kind, name, arguments in wanted:
        pointers = ", ".join(f"const {argument.split()[0]} *restrict a{k}" for k, argument in enumerate(arguments))
        call = ", ".join(f"a{k}[i]" for k in range(len(arguments)))
        lines.append(f"void loop_{name}(int64_t n, {pointers}, {kind} *restrict out) {{ "
                     f"for (int64_t i = 0; i < n; i++) out[i] = {name}({call}); }}")
    program = "\n".join(lines)
    # Each loop alone would inline its function; a hundred in one file need to be told.
    functions = math_functions({name: 1 for _, name, _ in wanted})
    functions = functions.replace("static inline", "static inline __attribute__((always_inline))")
    source = host_source() + functions + program
    first = source[:source.index(lines[0])].count("\n") + 1
    identity = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    report, pattern = REPORTS[compiler]
    target = probe((command,)).compiler.target if cpu == "native" else (f"-march={cpu}",)
    argv = [command, *own_flags(f"{identity}, x86_64"), *target, report, "-x", "c", "-c", "-", "-o",
            str(tmp_path / "loops.o")]  # fmt: skip
    result = subprocess.run(argv, input=source, capture_output=True, text=True, check=True)
    done = {int(line) for line in re.findall(pattern, result.stderr)}
    missed = [name for line, (_, name, _) in enumerate(wanted, first) if line not in done
              and not (compiler == "clang" and re.match("tt_(bits|float)_f", name))]  # loops that copy call memcpy
    assert not missed


def assembly_of(function, march, value):
    """The vector code of a loop over x[i] and y[i] of doubles."""
    command = shutil.which("gcc")
    if command is None or platform.machine() != "x86_64":
        pytest.skip("there is no gcc for x86-64")
    source = "#include <stdint.h>\n" + host_source() + math_functions({function: 1}) \
        + f"void f(double *x, const double *y) {{ for (int i = 0; i < 1024; i++) x[i] = {value}; }}\n"
    identity = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    argv = [command, *own_flags(f"{identity}, x86_64"), f"-march={march}", "-S", "-x", "c", "-", "-o", "-"]
    return subprocess.run(argv, input=source, capture_output=True, text=True, check=True).stdout


def test_an_element_and_a_known_number_are_compared_once():
    text = assembly_of("tt_max_f64", "x86-64-v3", "tt_max_f64(x[i], 1.0)")
    assert len(re.findall(r"\bvcmp\w*pd", text)) == 1


@pytest.mark.parametrize("name", ["max", "min"])
def test_comparisons_of_two_elements_are_not_joined_by_an_operation_on_masks(name):
    text = assembly_of(f"tt_{name}_f64", "skylake-avx512", f"tt_{name}_f64(x[i], y[i])")
    assert re.search(r"\bvcmp\w*pd", text)
    assert not re.search(r"\bk(or|and)[bw]\b", text)


@pytest.mark.parametrize("value", ["tt_min_f32(tt_max_f32(x, 0.0f), 6.0f)", "tt_max_f32(tt_min_f32(x, 6.0f), 0.0f)",
                                   "x != x ? -1.0f : tt_max_f32(x, 2.0f)", "tt_pow_f32(x, 1.7f)"])
def test_choices_in_a_row_are_vectorised(value, tmp_path):
    command = shutil.which("gcc")
    if command is None or "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("there is no gcc, or no vectors to choose by")
    loop = f"for (int64_t i = 0; i < n; i++) {{ const float x = a[i]; out[i] = {value}; }}"
    source = host_source() + math_functions(dict.fromkeys(["tt_max_f32", "tt_min_f32", "tt_pow_f32"], 1)) \
        + f"void choose(int64_t n, const float *restrict a, float *restrict out) {{\n{loop}\n}}\n"
    identity = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    report, pattern = REPORTS["gcc"]
    argv = [command, *own_flags(f"{identity}, x86_64"), "-march=native", report, "-x", "c", "-c", "-", "-o",
            str(tmp_path / "loop.o")]  # fmt: skip
    assert re.search(pattern, subprocess.run(argv, input=source, capture_output=True, text=True, check=True).stderr)
