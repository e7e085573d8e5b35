"""Every test of the fault suite gets a sandbox, a user with a cache of its own, and is slow."""

import pytest

from tests.faults.fork_server import ForkServer
from tests.faults.harness import Sandbox


def pytest_itemcollected(item):
    item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def fork_server():
    server = ForkServer()
    yield server
    server.stop()


@pytest.fixture
def sandbox(tmp_path, fork_server):
    folder = tmp_path / "sandbox"
    folder.mkdir(mode=0o700)
    return Sandbox(folder, fork_server)
