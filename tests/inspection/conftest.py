"""One browser for all tests that need one."""
import pytest

from tests.inspection.explorer import browser


@pytest.fixture(scope="session")
def driver():
    driver = browser.started()
    try:
        yield driver
    finally:
        driver.quit()
