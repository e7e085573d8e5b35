"""Screenshots of the pages, compared with stored ones: an eighth of the size, with one font, which matplotlib brings.

`pytest --update-golden tests/inspection/test_screenshots.py` stores them anew; look at them before they are committed.
"""
import io
import pathlib

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from tests.conftest import ROOT
from tests.inspection.debugger.test_in_browser import opened
from tests.inspection.debugger.test_session import X, f
from tests.inspection.explorer import browser
from tests.inspection.explorer.programs import made_page
from tinytrace.inspection.debugger.session import debugger

pytestmark = pytest.mark.skipif(bool(browser.MISSING), reason=f"left out: there is no {browser.MISSING} here")
STORED = ROOT / "tests" / "goldens" / "screenshots"
FONT = pathlib.Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSansMono.ttf")
IN_ONE_FONT = """
const [url, done] = arguments, style = document.createElement('style');
style.textContent = `@font-face{font-family:One;src:url(${url})} *{font-family:One!important}`;
document.head.append(style);
document.fonts.load('12px One').then(() => requestAnimationFrame(() => requestAnimationFrame(done)));"""
TOLERANCE = 24
"""By how much a colour may differ, of 255, in a square of eight pixels."""
SHARE = 0.01
"""How many of the squares may differ by more."""


def show_explorer(driver):
    browser.resize(driver, 1280, 720)
    browser.show(driver, made_page(24))
    driver.execute_script("document.querySelectorAll('#jaxpr [data-s]')[8].click()")


def show_debugger(driver):
    opened(driver, debugger(f)(X).until(primitive="mul"))


def taken(driver):
    """What the browser shows, as numbers: rows, columns, colours."""
    driver.execute_async_script(IN_ONE_FONT, FONT.as_uri())
    picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    return picture.reduce(8)


def difference(one, other):
    """The share of squares whose colour differs by more than the tolerance."""
    if one.size != other.size:
        return 1.0
    apart = np.abs(np.asarray(one, int) - np.asarray(other, int)).max(axis=-1)
    return (apart > TOLERANCE).mean()


@pytest.mark.parametrize("show", [show_explorer, show_debugger])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_as_it_did(driver, show, scheme, request):
    show(driver)
    browser.set_dark(driver, scheme == "dark")
    picture, path = taken(driver), STORED / f"{show.__name__.removeprefix('show_')}-{scheme}.png"
    if request.config.getoption("--update-golden"):
        picture.save(path, optimize=True)
    assert difference(picture, Image.open(path)) <= SHARE, f"look at it: it is not {path.name} any more"


@pytest.mark.parametrize("fault", ["main pre{font-size:16px!important}", "#c{display:none!important}",
                                   "main{grid-template-columns:1fr 1fr!important}", "body{color:#fff!important}",
                                   "header{display:none!important}", ".lit{background:none!important}"])  # fmt: skip
def test_a_fault_in_the_style_is_seen(driver, fault):
    show_explorer(driver)
    browser.set_dark(driver, False)
    driver.execute_script("document.head.append(Object.assign(document.createElement('style'), "
                          "{textContent: arguments[0]}))", fault)
    assert difference(taken(driver), Image.open(STORED / "explorer-light.png")) > SHARE
