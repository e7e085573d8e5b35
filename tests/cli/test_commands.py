"""The command line: every command in this process, as text and as JSON, with its exit codes."""
import json
import re

import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.cli import completion
from tinytrace.cli.__main__ import main, parser
from tinytrace.cli.doctor import vector_bits
from tinytrace.runtime import archive, ladder
from tinytrace.runtime.failures import forget_announcements
from tinytrace.runtime.inventory import current_inventory

MODEL = """
import tinytrace as jax
import tinytrace.numpy as jnp

def loss(x, n=2):
    return (jnp.sin(x) ** n).sum()

@jax.jit
def jitted(x):
    return x * 3
"""
SCRIPT = """
import sys
import tinytrace as jax, tinytrace.numpy as jnp
f = jax.jit(lambda x: jnp.cos(x) * 7)
print(f(jnp.ones(3)), f(jnp.ones(3)), sys.argv[1:])
"""
ON_FUNCTIONS = ["jaxpr", "kernels", "c", "asm", "why", "bench"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.py"
    path.write_text(MODEL)
    return str(path)


@pytest.fixture
def fresh_store(tmp_path):
    """A store of its own for a test; programs in memory are forgotten before and after."""
    before = jax.config.values
    yield lambda name: switched(tmp_path / name)
    for name, value in before.items():
        jax.config.update(name, value)
    jax.clear_caches()
    forget_announcements()


def switched(path):
    path.mkdir(mode=0o700, exist_ok=True)
    jax.config.update("cache_dir", str(path))
    jax.clear_caches()
    return path


def run(capsys, *argv):
    """Exit code, standard output, standard error."""
    code = main([str(word) for word in argv])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def answer(capsys, *argv):
    code, out, _ = run(capsys, *argv, "--json")
    return code, json.loads(out)


# --- on functions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "text"), [
    ("jaxpr", "b:f32[8] = sin a"), ("kernels", "loop over 8"), ("c", "int32_t tt_entry("), ("asm", "tt_entry:"),
    ("why", "because: the function was not called yet"), ("bench", "a call, the best of"),
])  # fmt: skip
def test_commands_on_functions(command, text, model, capsys):
    few = ["--repeat", "1"] if command == "bench" else []
    code, out, err = run(capsys, command, f"{model}:loss", "--arg", "f32[8]", "--static", "n=3", *few)
    assert (code, err) == (0, "")
    assert text in out
    code, value = answer(capsys, command, f"{model}:loss", "--arg", "f32[8]", "--static", "n=3", *few)
    assert code == 0
    assert value


def test_statics_and_jitted_functions(model, capsys):
    assert "integer_pow[y=5]" in run(capsys, "jaxpr", f"{model}:loss", "--arg", "f32[2]", "--static", "n=5")[1]
    assert "pjit" not in run(capsys, "jaxpr", f"{model}:jitted", "--arg", "f32[2]")[1]
    assert "struct tt_host" in run(capsys, "c", f"{model}:jitted", "--arg", "f32[2]", "--full")[1]
    assert "{ lambda" in run(capsys, "jaxpr", "tinytrace.nn:selu", "--arg", "2.0", "--simplified")[1]


def test_why_compares_with_an_earlier_call(model, capsys, fresh_store):
    fresh_store("own")
    _, value = answer(capsys, "why", f"{model}:jitted", "--arg", "f32[9]", "--seen", "f32[8]")
    assert not value["hit"]
    assert value["diff"][0]["path"] == "x.shape"
    assert answer(capsys, "why", f"{model}:jitted", "--arg", "f32[8]", "--seen", "f32[8]")[1]["hit"]


@pytest.mark.parametrize("argv", [
    ["no-such-command"], ["jaxpr"], ["jaxpr", "tinytrace.nn"], ["jaxpr", "tinytrace.nn:nothing"],
    ["jaxpr", "/no/such/file.py:f"], ["jaxpr", "tinytrace.nn:selu", "--arg", "f32[", "--json"],
    ["c", "tinytrace.nn:selu", "--arg", "1.0", "--static", "3"], ["run", "/no/such/script.py"],
    ["cache", "show", "zz"], ["cache", "import", "/no/such/file"], ["cache", "export", "/no/such/folder/file"],
])  # fmt: skip
def test_a_wrong_command_line_ends_with_2_and_a_note(argv, capsys, fresh_store):
    fresh_store("empty")
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err


def test_a_function_that_raises_ends_with_1(tmp_path, capsys):
    (tmp_path / "bad.py").write_text("def f(x):\n    return x.nothing\n")
    code, out, err = run(capsys, "jaxpr", f"{tmp_path}/bad.py:f", "--arg", "1.0")
    assert (code, out) == (1, "")
    assert "AttributeError" in err


# --- run, doctor, completion ----------------------------------------------------------------------------------------


def test_run_reports_what_a_script_compiled(tmp_path, capsys):
    (tmp_path / "script.py").write_text(SCRIPT)
    code, out, _ = run(capsys, "run", tmp_path / "script.py", "one", "--two")
    assert code == 0
    assert "['one', '--two']" in out
    assert re.search(r"1 kinds of calls: \d compiled, \d from disk, \d from memory", out)
    code = main(["run", "--json", str(tmp_path / "script.py")])
    printed = capsys.readouterr()
    assert json.loads(printed.out)["calls"][0]["hits"] == 1
    assert "[]" in printed.err


@pytest.mark.parametrize(("text", "code"), [("raise SystemExit(7)", 7), ("1 / 0", 1), ("exit('no')", 1)])
def test_run_ends_as_the_script_does(text, code, tmp_path, capsys):
    (tmp_path / "script.py").write_text(text)
    assert run(capsys, "run", tmp_path / "script.py")[0] == code


def test_the_doctor_finds_all_well(capsys, fresh_store):
    fresh_store("own")  # that of the tests has ten thousand entries, which the doctor reads
    code, out, _ = run(capsys, "doctor")
    assert code == 0, out
    assert out.endswith("All is well.\n")
    _, checks = answer(capsys, "doctor")
    assert {"compiler", "processor", "threads", "store", "BLAS", "self-test"} <= {check["name"] for check in checks}


def test_the_doctor_says_what_is_missing_and_how_to_get_it(capsys, fresh_store):
    fresh_store("own")
    jax.config.update("compiler", "/no/such/compiler")
    code, out, _ = run(capsys, "doctor")
    assert code == 1
    assert re.search(r"missing +compiler +no C compiler found.*\n +-> install gcc", out)


def test_vector_bits():
    assert vector_bits(("-march=x86-64",)) in (0, 128)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_knows_every_command(shell, capsys):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    for word in ("doctor", "cache", "verify", "--rebuild", "explore"):
        assert word in out
    assert {"doctor", "run", *ON_FUNCTIONS} <= set(dict(completion._words(parser(), ""))[""])


def test_colours_only_in_terminals_that_want_them(monkeypatch, capsys, fresh_store):
    fresh_store("own")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in run(capsys, "doctor")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run(capsys, "doctor")[1]


# --- the store ---------------------------------------------------------------------------------------------------


def filled(fresh_store):
    path = fresh_store("first")
    for k in (2.5, 3.5):
        jax.jit(lambda x, k=k: jnp.sqrt(x) * k)(jnp.ones(3))
    return path


@pytest.mark.compiled
def test_the_store_is_listed_shown_and_verified(fresh_store, capsys):
    filled(fresh_store)
    code, entries = answer(capsys, "cache", "ls")
    assert (code, len(entries)) == (0, 2)
    first, second = (entry["digest"] for entry in entries)
    assert "sqrt" in run(capsys, "cache", "show", first[:10])[1]
    assert answer(capsys, "cache", "why", first, second)[1]["diff"][0]["path"] == "source"
    code, out, _ = run(capsys, "cache", "verify", "--rebuild")
    assert code == 0
    assert out == "2 of 2 entries are rebuilt byte for byte\n"
    entry = current_inventory()[first]
    with open(f"{entry.path}/kernel.so", "ab") as file:
        file.write(b"x")
    code, value = answer(capsys, "cache", "verify")
    assert (code, list(value["problems"])) == (1, [first])
    assert run(capsys, "cache", "prune", "--mib", "0")[1] == "2 entries removed, 0 left\n"
    assert run(capsys, "cache", "clear")[1] == "0 entries removed, 0 left\n"


@pytest.mark.compiled
def test_exported_here_imported_there_nothing_is_compiled(fresh_store, tmp_path, capsys):
    filled(fresh_store)
    file = tmp_path / "entries.zip"
    assert run(capsys, "cache", "export", file)[0] == 0
    assert run(capsys, "cache", "export", file)[0] == 2  # it replaces none
    fresh_store("second")
    code, value = answer(capsys, "cache", "import", file)
    assert (code, len(value["added"])) == (0, 2)
    compiles = ladder.stats.compiles
    for k in (2.5, 3.5):
        jax.jit(lambda x, k=k: jnp.sqrt(x) * k)(jnp.ones(3))
    assert ladder.stats.compiles == compiles
    assert len(answer(capsys, "cache", "import", file)[1]["present"]) == 2
    assert run(capsys, "cache", "verify", "--rebuild")[0] == 0


@pytest.mark.compiled
def test_entries_of_other_machines_and_what_is_none_are_left_out_and_told(fresh_store, tmp_path, capsys, monkeypatch):
    filled(fresh_store)
    file = tmp_path / "entries.zip"
    run(capsys, "cache", "export", file)
    fresh_store("second")
    other = archive.current_compiler(None, [], lambda: None)._replace(cpu="another processor")
    monkeypatch.setattr(archive, "current_compiler", lambda *args: other)
    code, out, _ = run(capsys, "cache", "import", file)
    assert code == 1
    assert out.count("this one is `another processor`") == 2
    (tmp_path / "noise").write_bytes(b"noise" * 1000)
    assert run(capsys, "cache", "import", tmp_path / "noise")[0] == 2
