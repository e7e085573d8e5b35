"""One browser for all tests that need one."""
import pytest

from tests.inspection.explorer import browser


def pytest_itemcollected(item):
    if "driver" in item.fixturenames:
        item.add_marker(pytest.mark.not_quick)  # to start a browser takes four seconds


@pytest.fixture(scope="session")
def driver():
    driver = browser.started()
    try:
        yield driver
    finally:
        driver.quit()
