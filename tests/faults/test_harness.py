"""The harness itself sees what it is there to see."""

from __future__ import annotations

import signal

import pytest

from tests.faults.harness import ANSWER


def test_a_right_answer(sandbox):
    sandbox.run(ANSWER + "check(); print('right')").require_right(warned=[0])


def test_it_sees_a_wrong_answer(sandbox):
    ended = sandbox.run(ANSWER + "X.setflags(write=True); np.testing.assert_equal(jax.jit(jnp.sin)(X), X)")
    with pytest.raises(AssertionError, match="Mismatched elements"):
        ended.require_right()


def test_it_sees_signals(sandbox):
    ended = sandbox.run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert ended.status == -signal.SIGSEGV
    with pytest.raises(AssertionError, match="died of SIGSEGV"):
        ended.require_clean()


def test_it_sees_hangs_and_where(sandbox):
    ended = sandbox.run("import time\ndef stuck(): time.sleep(60)\nstuck()", timeout=1)
    with pytest.raises(AssertionError, match=r"(?s)it hangs.*in stuck"):
        ended.require_clean()


def test_it_sees_processes_and_ends_them(sandbox):
    ended = sandbox.run("import subprocess as s; s.Popen(['sleep', '77'], stdout=s.DEVNULL, stderr=s.DEVNULL)")
    assert ended.processes == ["sleep 77 "]


def test_it_sees_files(sandbox):
    ended = sandbox.run("import os; open(os.environ['TMPDIR'] + '/forgotten', 'w').close()")
    assert ended.files == ["tmp/forgotten"]


def test_it_sees_each_warning(sandbox):
    ended = sandbox.run("for _ in range(2): warnings.warn('now')")
    assert ended.warnings == ["UserWarning: now"] * 2
    with pytest.raises(AssertionError):
        ended.require_right()
