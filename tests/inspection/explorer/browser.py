"""Chromium without a screen, driven by selenium."""
import shutil
import tempfile

from selenium import webdriver

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
MISSING = ", ".join(name for name, path in (("chromium", CHROMIUM), ("chromedriver", DRIVER)) if path is None)
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
           "--force-color-profile=srgb", "--disable-extensions", "--no-first-run"]  # fmt: skip


def started():
    """A browser that keeps what pages write to its console."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def resize(driver, width, height):
    """Give pages just so many pixels."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def set_dark(driver, dark):
    """Say which colours the reader prefers."""
    features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def show(driver, explored):
    """Open a page."""
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8", delete=False) as file:
        file.write(explored.html)
    driver.get(f"file://{file.name}")
