"""`jax.distributed`: processes that compute together. There is one; a program that says so runs as it is."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.missing import DEVICES

__all__ = ["initialize", "shutdown"]

_coordinators: list[str] = []
"""The address that the one process was given, while it is initialized."""


def initialize(coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None,
               local_device_ids: int | Sequence[int] | None = None, cluster_detection_method: str | None = None,
               initialization_timeout: int = 300, coordinator_bind_address: str | None = None) -> None:
    """Say that this process is process 0 of 1: nothing is started, and nobody is waited for.

    Args:
      coordinator_address: "host:port", where other processes would find the first; the others are as in JAX.

    Raises: ValueError when one of the first three is not given, RuntimeError the second time, NotImplementedError for
      more than one process.

    >>> jax.distributed.initialize("localhost:1234", num_processes=1, process_id=0)
    >>> jax.process_index(), jax.process_count()
    (0, 1)
    >>> jax.distributed.shutdown()

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.distributed.initialize.html.
    """
    for value, complaint in ((coordinator_address, "coordinator_address should be defined."),
                             (num_processes, "Number of processes must be defined."),
                             (process_id, "The process id of the current process must be defined.")):
        if value is None:
            raise ValueError(complaint)
    if (num_processes, process_id) != (1, 0):
        raise NotImplementedError(f"jax.distributed.initialize: process {process_id} of {num_processes}: {DEVICES}")
    if _coordinators:
        raise RuntimeError("distributed.initialize should only be called once.")
    _coordinators.append(str(coordinator_address))


def shutdown() -> None:
    """Undo `initialize`; where nothing was initialized, nothing happens."""
    _coordinators.clear()
