"""Chromium without a screen, driven by selenium; and the screenshots of the documentation:

    python -m tests.inspection.explorer.browser        writes docs/images/explorer-light.png and -dark.png
"""
import io
import shutil
import tempfile

from PIL import Image
from selenium import webdriver

from tests.conftest import ROOT
from tests.inspection.explorer.programs import page

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
MISSING = ", ".join(name for name, path in (("chromium", CHROMIUM), ("chromedriver", DRIVER)) if path is None)
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
           "--force-color-profile=srgb", "--disable-extensions", "--no-first-run"]  # fmt: skip
IMAGES = ROOT / "docs" / "images"
POINTED = "return [...document.querySelectorAll('#jaxpr [data-s]')].find(e => e.textContent.includes(arguments[0]))"


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


def write_screenshots():
    driver = started()
    try:
        IMAGES.mkdir(exist_ok=True)
        resize(driver, 1280, 720)
        for scheme in ("light", "dark"):
            set_dark(driver, scheme == "dark")
            show(driver, page("step"))
            driver.execute_script(POINTED, "= tanh").click()
            picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
            picture.quantize(256).save(IMAGES / f"explorer-{scheme}.png", optimize=True)
    finally:
        driver.quit()


if __name__ == "__main__":
    write_screenshots()
