"""Children forked at any moment, in a signal's handler too, compile and run like their parents, and harm nothing."""

from __future__ import annotations

import pytest

BEGIN = """\
import random, signal, threading, time
import numpy as np
import numpy.testing
import tinytrace as jax
import tinytrace.numpy as jnp
X = np.linspace(-1, 1, 16, dtype=np.float32)
def check(n):
    np.testing.assert_allclose(jax.jit(lambda x: jnp.sin(x) * n + x)(X), np.sin(X) * n + X, 1e-5)
def child(function):
    "Fork; the child calls the function and leaves. Returns its pid."
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            function()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid
def ended(pid):
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "it hangs"
"""

PROGRAMS = {
    "while other threads compile and run": """
        stop = []
        def churn(number):
            n = 1000 * (number + 1)
            while not stop:
                check(n + random.randrange(6))
        threads = [threading.Thread(target=churn, args=(i,), daemon=True) for i in range(3)]
        for thread in threads: thread.start()
        for n in range(12):
            status = ended(child(lambda: (check(n + 2), check(1000))))
            assert status == 0, status
        stop.append(1)
        for thread in threads: thread.join()
        """,
    # The child leaves the handler and goes on with what was interrupted, as its parent does.
    "in a handler, and both go on": """
        pids = []
        role = ["parent"]
        def handler(number, frame):
            pid = os.fork()
            if pid: pids.append(pid)
            else: role[0] = "child"
        signal.signal(signal.SIGUSR1, handler)
        for n in range(5):
            timer = threading.Timer(0.005 + 0.02 * n, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            status = 1
            try:
                check(n + 2)
                check(n + 100)
                timer.join()  # the signal may be late, and the child ends here
                time.sleep(0.02)
                status = 0
            finally:
                if role[0] == "child":
                    if status:
                        import traceback
                        traceback.print_exc()
                        sys.stderr.flush()
                    os._exit(status)
        assert len(pids) == 5 and [ended(pid) for pid in pids] == [0] * 5
        """,
    "in a handler of a callback": """
        def handler(number, frame):
            pids.append(child(lambda: check(7)))
        signal.signal(signal.SIGUSR1, handler)
        pids = []
        def interrupt(y):
            signal.raise_signal(signal.SIGUSR1)
            return y + 1
        f = jax.jit(lambda x: jax.pure_callback(interrupt, x, x) * 2)
        for _ in range(3): assert f(np.float32(1)) == 4
        assert [ended(pid) for pid in pids] == [0] * 3
        """,
    "in a traced function": """
        pids = []
        def traced(x):
            pids.append(os.fork())
            return x * 2 + 1
        status = 1
        try:
            assert jax.jit(traced)(3.0) == 7
            check(3)
            status = 0
        finally:
            if not pids[0]: os._exit(status)
        assert ended(pids[0]) == 0
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_fork(sandbox, name):
    program = "\n".join(line[8:] for line in PROGRAMS[name].splitlines())
    sandbox.fork(BEGIN + program + "\nprint('right')", timeout=120).require_right()
