"""The harness itself sees what it is there to see, in processes of their own and in forks."""

from __future__ import annotations

import signal

import pytest

from tests.faults.harness import ANSWER

PROCESSES = ["run", "fork"]


@pytest.fixture(params=PROCESSES)
def begin(request, sandbox):
    """How a program begins."""
    return getattr(sandbox, request.param)


def test_a_right_answer(begin):
    begin(ANSWER + "check(); print('right')").require_right(warned=[0])


def test_it_sees_a_wrong_answer(begin):
    ended = begin(ANSWER + "X.setflags(write=True); np.testing.assert_equal(jax.jit(jnp.sin)(X), X)")
    with pytest.raises(AssertionError, match="Mismatched elements"):
        ended.require_right()


def test_it_sees_signals(begin):
    ended = begin("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert ended.status == -signal.SIGSEGV
    with pytest.raises(AssertionError, match="died of SIGSEGV"):
        ended.require_clean()


def test_it_sees_hangs_and_where(begin):
    ended = begin("import time\ndef stuck(): time.sleep(60)\nstuck()", timeout=1)
    with pytest.raises(AssertionError, match=r"(?s)it hangs.*in stuck"):
        ended.require_clean()


def test_it_sees_processes_and_ends_them(begin):
    ended = begin("import subprocess as s; s.Popen(['sleep', '77'], stdout=s.DEVNULL, stderr=s.DEVNULL)")
    assert ended.processes == ["sleep 77 "]


def test_it_sees_files(begin):
    ended = begin("import os; open(os.environ['TMPDIR'] + '/forgotten', 'w').close()")
    assert ended.files == ["tmp/forgotten"]


def test_it_sees_each_warning(begin):
    ended = begin("for _ in range(2): warnings.warn('now')")
    assert ended.warnings == ["UserWarning: now"] * 2
    with pytest.raises(AssertionError):
        ended.require_right()


def test_programs_do_not_see_each_other(sandbox):
    assert sandbox.fork("import os; os.environ['LEFT'] = '1'; sys.left = 1; os.close(0)").status == 0
    ended = sandbox.fork("import os; print('LEFT' in os.environ, hasattr(sys, 'left'), sys.stdin.read() == '')")
    assert ended.require_clean().output == "False False True\n"
