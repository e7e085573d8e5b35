"""`jax.distributed` on one process."""

import pytest

from tinytrace import distributed, process_count
from tinytrace.missing import DEVICES


def test_one_process_is_initialized_once():
    distributed.shutdown()
    distributed.initialize("localhost:1234", 1, 0)
    try:
        with pytest.raises(RuntimeError, match="should only be called once"):
            distributed.initialize("localhost:1234", 1, 0)
    finally:
        distributed.shutdown()
    distributed.initialize("localhost:1234", num_processes=1, process_id=0)
    distributed.shutdown()
    assert process_count() == 1


@pytest.mark.parametrize(("given", "complaint"), [
    ({}, "coordinator_address should be defined"),
    ({"coordinator_address": "host:1"}, "Number of processes must be defined"),
    ({"coordinator_address": "host:1", "num_processes": 1}, "The process id of the current process must be defined"),
])
def test_what_is_not_said_is_asked_for_as_in_jax(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        distributed.initialize(**given)


@pytest.mark.parametrize(("processes", "this"), [(2, 0), (2, 1), (1, 3)])
def test_other_processes_are_refused(processes, this):
    with pytest.raises(NotImplementedError, match=f"process {this} of {processes}: {DEVICES}"):
        distributed.initialize("host:1", processes, this)
    distributed.initialize("host:1", 1, 0)  # nothing is left of what was refused
    distributed.shutdown()
