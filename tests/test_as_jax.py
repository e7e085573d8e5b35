"""`import jax` means tinytrace, in a script and in libraries."""

import subprocess
import sys

import pytest

from tinytrace.as_jax import install_as_jax


def run(code, *more, **options):
    done = subprocess.run([sys.executable, *more, "-c", code] if code else [sys.executable, *more], text=True,
                          capture_output=True, **options)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.not_quick
def test_one_line_makes_it_so():
    code = """if True:
        import tinytrace
        tinytrace.install_as_jax()
        tinytrace.install_as_jax()
        import jax, jaxlib, importlib.metadata
        import jax.numpy as jnp
        from jax import lax, jit
        from jax.interpreters import ad
        from jax._src.util import safe_map
        from jax._src.interpreters import ad as inner
        from jax._src import core, api, dtypes
        import jax.scipy.special, jax.experimental.pjit, jax.lib.xla_extension, jax.export
        import jaxlib.xla_extension
        print(jax.__version__, jax.__version_info__, jax.version.__version__, jaxlib.__version__)
        print(importlib.metadata.version("jax"), importlib.metadata.version("jaxlib"), tinytrace.__version__)
        print(jnp is tinytrace.numpy, jit is tinytrace.jit, ad is inner, core is tinytrace.core, api is tinytrace)
        print(jax.jit(lambda x: 2 * x)(3), jax, isinstance(jnp.ones(1), jaxlib.xla_extension.ArrayImpl))
        try:
            import jax.nonsense
        except ModuleNotFoundError as error:
            print(error)"""
    assert run(code) == [
        "0.4.35 (0, 4, 35) 0.4.35 0.4.35",
        "0.4.35 0.4.35 0.1.0",
        "True True True True True",
        "6 <module 'jax' (tinytrace)> True",
        "No module named 'jax.nonsense': tinytrace has none (its documentation lists what it lacks of JAX)",
    ]


@pytest.mark.not_quick
def test_a_script_is_run_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, jax\nprint(jax.__version__, jax.numpy.__name__, sys.argv[1:])\n")
    lines = run("", "-m", "tinytrace", "run", str(script), "--fast", "3")
    assert lines[0] == "0.4.35 tinytrace.numpy ['--fast', '3']"


def test_not_after_jax_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", sys)
    with pytest.raises(RuntimeError, match="call install_as_jax\\(\\) before the first import of jax"):
        install_as_jax()


def test_modules_inside_of_others_are_not_made_twice():
    program = ("import tinytrace; tinytrace.install_as_jax(); import jax.scipy.special, jax._src.scipy.special as one, "
               "jax._src.numpy.reductions as other, tinytrace.numpy.reductions as ours; "
               "assert one is jax.scipy.special and other is ours")
    subprocess.run([sys.executable, "-c", program], check=True)
