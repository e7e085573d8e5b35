"""The screenshots of the documentation: `python -m tests.inspection.screenshots` writes those in docs/images."""
import io
import pathlib
import tempfile

from PIL import Image

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.conftest import ROOT
from tests.inspection.explorer import browser
from tests.inspection.explorer.programs import page as explorer_page
from tests.inspection.notebook.examples import page as notebook_page
from tests.inspection.notebook.examples import values

IMAGES = ROOT / "docs" / "images"
POINTED = "return [...document.querySelectorAll('#jaxpr [data-s]')].find(e => e.textContent.includes(arguments[0]))"


def explorer(driver, scheme):
    browser.resize(driver, 1280, 720)
    browser.set_dark(driver, scheme == "dark")
    browser.show(driver, explorer_page("step"))
    driver.execute_script(POINTED, "= tanh").click()


def notebook(driver, scheme):
    shown = values()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "page.html")
        three = {name: shown[name] for name in ("traced", "lowered", "kernels")}
        path.write_text(notebook_page(three, scheme), "utf-8")
        browser.resize(driver, 860, 800)
        driver.get(f"file://{path}")


def loss(rate, xs):
    def step(weight, x):
        rest = weight * x - 1
        entropy = jnp.log(rest)
        return weight - rate * entropy, entropy

    return jax.lax.scan(step, 2.0, xs)


def debugger(driver, scheme):
    browser.resize(driver, 1280, 620)
    browser.set_dark(driver, scheme == "dark")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.html")
        jax.debugger(loss)(0.5, jnp.array([1.0, 0.75, 0.25])).until(nan=True).save(path)
        driver.get(f"file://{path}")


def main():
    driver = browser.started()
    try:
        IMAGES.mkdir(exist_ok=True)
        for show in (explorer, notebook, debugger):
            for scheme in ("light", "dark"):
                show(driver, scheme)
                picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
                picture.quantize(256).save(IMAGES / f"{show.__name__}-{scheme}.png", optimize=True)
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
