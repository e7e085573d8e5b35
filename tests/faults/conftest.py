"""Every test of the fault suite gets a sandbox: a user with a cache of his own."""

import pytest

from tests.faults.harness import Sandbox


@pytest.fixture
def sandbox(tmp_path):
    folder = tmp_path / "sandbox"
    folder.mkdir(mode=0o700)
    return Sandbox(folder)
