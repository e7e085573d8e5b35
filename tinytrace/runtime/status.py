"""What an entry returns, and the exception that it means; csrc/tt_host.h."""
from __future__ import annotations

from tinytrace.runtime.callbacks import pending_exception

OK, NO_MEMORY, CALLBACK_RAISED = 0, 1, 2


def raise_status(status: int) -> None:
    """Raise what a non-zero status of an entry means."""
    if status == NO_MEMORY:
        raise MemoryError("a compiled program could not allocate its temporary memory")
    if status == CALLBACK_RAISED:
        raise pending_exception()
    raise SystemError(f"a compiled program returned the unknown status {status}")
