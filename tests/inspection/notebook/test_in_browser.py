"""What a notebook shows can be read in its light and in its dark look, folds, and lights up what belongs together."""
import re

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from tests.inspection.explorer import browser
from tests.inspection.explorer.test_in_browser import contrast
from tests.inspection.notebook.examples import page, values

pytestmark = pytest.mark.skipif(bool(browser.MISSING), reason=f"left out: there is no {browser.MISSING} here")

COLOURS = """
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (!c.endsWith(', 0)') && c != 'transparent') return c; } return 'rgb(255, 255, 255)'; };
return ['code', 'samp', 'code b', 'code i', 'code u', 'summary'].map(s => {
  const e = document.querySelector('.tinytrace ' + s); return [s, getComputedStyle(e).color, behind(e)]; })"""


@pytest.fixture(scope="module")
def shown():
    return values()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_read(driver, shown, theme, tmp_path):
    (tmp_path / "page.html").write_text(page(shown, theme), "utf-8")
    browser.resize(driver, 1000, 800)
    driver.get(f"file://{tmp_path}/page.html")
    for name, colour, back in driver.execute_script(COLOURS):
        numbers = [[int(x) for x in re.findall(r"\d+", text)[:3]] for text in (colour, back)]
        assert contrast(*numbers) >= 3.5, (name, colour, back)
    fonts = driver.execute_script("return [...document.querySelectorAll('.tinytrace code')]"
                                  ".map(e => getComputedStyle(e).fontFamily + getComputedStyle(e).whiteSpace)")
    assert len(fonts) >= len(shown)
    assert all("monospace" in font for font in fonts)


def test_it_folds_and_lights_up(driver, shown, tmp_path):
    two = {name: shown[name] for name in ("closed", "lowered")}
    (tmp_path / "page.html").write_text(page(two, "light"), "utf-8")
    driver.get(f"file://{tmp_path}/page.html")
    first, second = driver.find_elements(By.CSS_SELECTOR, ".tinytrace")
    sine = first.find_element(By.CSS_SELECTOR, '[data-e^="0 "]')
    ActionChains(driver).move_to_element(sine).perform()
    lit = [e for e in driver.find_elements(By.CSS_SELECTOR, "[data-e]")
           if e.value_of_css_property("outline-style") == "solid"]
    assert [e.text.split(" = ")[1].split(" ")[0] for e in lit] == ["sin", "gt", "exp"]
    hidden = second.find_element(By.CSS_SELECTOR, "samp")
    assert not hidden.is_displayed()
    second.find_elements(By.CSS_SELECTOR, "summary")[1].click()
    assert hidden.is_displayed()
