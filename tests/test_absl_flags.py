"""Settings are flags of absl for programs that use it."""
import subprocess
import sys

import pytest

pytest.importorskip("absl", reason="`make` installs it")

WITH_APP = """
import sys
from absl import app
import tinytrace as jax
jax.config.config_with_absl()
def main(words):
    print(jax.config.jax_enable_x64, jax.config.numpy_rank_promotion, jax.config.read("tinytrace_cache_mib"), words[1:])
app.run(main)
"""
ALONE = """
import sys
import tinytrace as jax
jax.config.parse_flags_with_absl()
jax.config.parse_flags_with_absl()
print(jax.config.jax_enable_x64, jax.config.numpy_rank_promotion, jax.config.read("tinytrace_cache_mib"), sys.argv[1:])
"""


def ran(program, *words):
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)
    return done.stdout.strip() or done.stdout + done.stderr


@pytest.mark.not_quick
def test_app_run_sets_what_is_given():
    words = ["--jax_enable_x64", "--jax_numpy_rank_promotion=warn", "--tinytrace_cache_mib=7"]
    assert ran(WITH_APP, *words, "more") == "True warn 7 ['more']"
    assert ran(WITH_APP) == "False allow 512 []"
    assert ran(WITH_APP, "--jax_platforms=cpu", "--nojax_enable_x64") == "False allow 512 []"


@pytest.mark.not_quick
def test_app_run_refuses_what_does_not_fit():
    assert "should be one of <allow|warn|raise>" in ran(WITH_APP, "--jax_numpy_rank_promotion=perhaps")
    assert "Unknown command line flag 'jax_nonsense'" in ran(WITH_APP, "--jax_nonsense")
    assert "jax_platforms cannot be 'tpu' in tinytrace: there is one platform" in ran(WITH_APP, "--jax_platforms=tpu")


def test_flags_are_read_without_app_too():
    assert ran(ALONE, "--jax_enable_x64", "--mine", "--", "--tinytrace_cache_mib=7") == \
        "True allow 512 ['--jax_enable_x64', '--mine', '--', '--tinytrace_cache_mib=7']"
    assert ran(ALONE, "--jax_nonsense=1", "x") == "False allow 512 ['--jax_nonsense=1', 'x']"
