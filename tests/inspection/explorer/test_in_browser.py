"""The explorer's pages in a browser: pointing, holding, the slider, the keyboard, a phone; no error on the console."""
import json

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.inspection.explorer import browser
from tests.inspection.explorer.programs import PROGRAMS, made_page, page
from tinytrace.inspection.explorer.panes import line_in_program
from tinytrace.runtime.disassembly import disassemble

pytestmark = pytest.mark.skipif(bool(browser.MISSING), reason=f"left out: there is no {browser.MISSING} here")
PANES = ["python", "jaxpr", "simplified", "kernels", "c", "assembly"]

# For each equation: the lines of each pane that light up when its first part in the jaxpr is pointed at.
POINT_AT_ALL = """
const lines = {}, panes = [...document.querySelectorAll('main pre')];
const data = JSON.parse(document.getElementById('data').textContent);
for (const part of document.querySelectorAll('#jaxpr [data-s]')) {
  const ids = data.sets[part.dataset.s];
  if (lines[ids]) continue;
  part.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
  lines[ids] = Object.fromEntries(panes.map(pane => [pane.id, [...new Set(
    [...pane.querySelectorAll('.lit')].map(e => e.closest('.l').dataset.n))]]));
}
return JSON.stringify(lines)"""
STATE = """return JSON.stringify([document.documentElement.className,
  [...document.querySelectorAll('main pre')].map(p => [p.scrollTop, p.scrollLeft]), scrollY,
  document.querySelectorAll('.lit').length, document.getElementById('now').textContent])"""


@pytest.fixture(scope="module", params=PROGRAMS)
def explored(request):
    return page(request.param)


@pytest.fixture
def shown(driver, explored):
    return opened(driver, explored)


def opened(driver, explored, width=1280, height=720):
    browser.resize(driver, width, height)
    browser.set_dark(driver, False)
    browser.show(driver, explored)
    return driver


def state(driver):
    classes, scrolled, page_scrolled, lit, now = json.loads(driver.execute_script(STATE))
    return {"held": "held" in classes, "scrolled": (scrolled, page_scrolled), "lit": lit, "now": now}


def part(driver, pane, text):
    script = "return [...document.querySelectorAll(arguments[0])].find(e => e.textContent.includes(arguments[1]))"
    return driver.execute_script(script, f"#{pane} [data-s]", text)


def test_pointing_lights_up_what_the_source_map_says(shown, explored):
    lit = {int(key): lines for key, lines in json.loads(shown.execute_script(POINT_AT_ALL)).items()}
    source = explored.lowered.source_map
    instructions = disassemble(explored.lowered.source)
    assert sorted(lit) == [e.id for e in source.equations]
    for equation in source.equations:
        ids = [equation.id, *explored.inside.get(equation.id, ())]
        places = {place.line for k in ids for place in source.c_of(k)}
        whole = {place.line for place in source.places if set(place.equations) & set(ids)}
        wanted = {
            "python": {line for k in ids for line in range(source.equations[k].line, source.equations[k].end_line + 1)
                       if source.equations[k].file},
            "c": places,
            "kernels": {line + 1 for k in ids for line in explored.panes["kernels"].lines_of(k)},
        }
        found = {key: set(map(int, lit[equation.id][key])) for key in wanted}
        assert found == wanted, equation
        code = {f"{i.address:x}" for i in instructions if line_in_program(i, source) in whole}
        assert set(lit[equation.id]["assembly"]) == code, equation
        if not equation.reason:
            assert found["c"]
            assert found["kernels"]
    assert browser_console(shown) == []


def test_a_line_that_wrote_thousands_of_equations(driver):
    """What is in sight lights up at once, the rest soon; what is held all at once."""
    opened(driver, made_page(6000))
    last = "[...document.querySelectorAll('#python [data-s]')].at(-1)"
    seen = """const first = [...document.querySelectorAll('#jaxpr .l')].slice(0, 8);
        return [first.every(line => line.querySelector('.lit')), document.querySelectorAll('#jaxpr .lit').length]"""
    driver.execute_script("return new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
    point = f"{last}.dispatchEvent(new PointerEvent('pointerover', {{bubbles: true}}));"
    at_once, count = driver.execute_script(point + seen)
    assert at_once
    assert count < 6000
    WebDriverWait(driver, 10, 0.02).until(lambda driver: driver.execute_script(seen)[1] == 6000)
    first = "document.querySelector('#jaxpr [data-s]')"
    driver.execute_script(f"{first}.dispatchEvent(new PointerEvent('pointerover', {{bubbles: true}}))")
    WebDriverWait(driver, 10, 0.02).until(lambda driver: driver.execute_script(seen)[1] == 2)
    assert driver.execute_script(f"{last}.click();{seen}") == [True, 6000]
    assert browser_console(driver) == []


def browser_console(driver):
    return [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def test_the_mouse(driver):
    opened(driver, page("step"))
    before = state(driver)
    target = part(driver, "jaxpr", "= tanh")
    ActionChains(driver).move_to_element(target).perform()
    pointed = state(driver)
    assert pointed["lit"] > 5
    assert pointed["scrolled"] == before["scrolled"]
    assert "f32[32,128] -> f32[32,128], 32.8 kB, 4.1 kflop, in kernel 0, programs.py:" in pointed["now"]
    assert "touched by" in pointed["now"]
    target.click()
    held = state(driver)
    assert held["held"]
    ActionChains(driver).move_to_element(part(driver, "python", "logits - jax")).perform()
    assert state(driver)["now"] == held["now"]
    said = driver.find_element(By.ID, "said").get_attribute("textContent")
    assert said.startswith("held: e")
    assert "C: line" in said
    visible = """const box = document.getElementById('assembly').getBoundingClientRect();
        return [...document.querySelectorAll('#assembly .lit')].some(e => { const r = e.getBoundingClientRect();
          return r.top >= box.top && r.bottom <= box.bottom })"""
    assert driver.execute_script(visible)
    ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    assert not state(driver)["held"]
    assert browser_console(driver) == []


def test_the_keyboard(driver):
    opened(driver, page("selu"))
    driver.execute_script("document.getElementById('jaxpr').focus()")
    keys = ActionChains(driver)
    keys.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN).perform()
    assert "= exp" in state(driver)["now"]
    assert "Python: line" in driver.find_element(By.ID, "said").get_attribute("textContent")
    ActionChains(driver).send_keys(Keys.ARROW_UP).perform()
    assert "= gt" in state(driver)["now"]
    ActionChains(driver).send_keys(Keys.ENTER, Keys.ARROW_DOWN).perform()
    assert state(driver)["held"]
    assert "= gt" in state(driver)["now"]
    ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    assert not state(driver)["held"]


def test_the_slider(driver):
    explored = page("selu")
    opened(driver, explored)
    slider, count = driver.find_element(By.ID, "slider"), len(explored.changes)
    slider.send_keys(Keys.ARROW_RIGHT)
    assert driver.find_element(By.ID, "pass").text.startswith(f"1 of {count}: inline (1 equation removed")
    assert slider.get_attribute("aria-valuetext").startswith(f"1 of {count}: inline")
    item, = [li for li in driver.find_elements(By.CSS_SELECTOR, "#passes li") if li.is_displayed()]
    assert item.find_elements(By.CSS_SELECTOR, "del")
    touched = driver.find_elements(By.CSS_SELECTOR, "#jaxpr .touched")
    assert any("pjit" in e.text for e in touched)
    slider.send_keys(Keys.ARROW_LEFT)
    assert driver.find_elements(By.CSS_SELECTOR, ".touched") == []
    slider.send_keys(Keys.END)
    assert driver.find_element(By.ID, "pass").text.startswith(f"{count} of {count}: {explored.changes[-1].name}")
    assert browser_console(driver) == []


def test_without_a_script_the_texts_are_there(driver):
    explored = page("selu")
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(driver, explored)
        assert len(driver.find_elements(By.CSS_SELECTOR, "main pre")) == 6
        assert all(pane.is_displayed() for pane in driver.find_elements(By.CSS_SELECTOR, "main pre"))
        assert all(li.is_displayed() for li in driver.find_elements(By.CSS_SELECTOR, "#passes li"))
        assert not driver.find_element(By.ID, "slider").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_screen_readers_find_their_way(driver):
    opened(driver, page("selu"))
    for pane in PANES:
        text = driver.find_element(By.ID, pane)
        assert text.get_attribute("tabindex") == "0"
        assert text.accessible_name.startswith(driver.find_element(By.ID, f"h-{pane}").text.split(" ")[0])
    assert driver.find_element(By.ID, "slider").accessible_name == "Step through the passes"
    assert driver.find_element(By.ID, "said").aria_role == "status"


@pytest.mark.parametrize(("width", "columns"), [(390, 1), (1280, 3), (2400, 6)])
def test_screens(driver, width, columns):
    opened(driver, page("selu"), width, 800)
    lefts = {driver.find_element(By.ID, pane).rect["x"] for pane in PANES}
    assert len(lefts) == columns
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_light_and_dark(driver):
    opened(driver, page("selu"))
    colours = []
    for dark in (False, True):
        browser.set_dark(driver, dark)
        part(driver, "jaxpr", "= exp").click()
        script = """const style = e => getComputedStyle(e);
            return [style(document.body).backgroundColor, style(document.body).color,
                    style(document.querySelector('#jaxpr .lit')).backgroundColor]"""
        colours.append([[int(x) for x in text[4:-1].split(",")] for text in driver.execute_script(script)])
    for back, text, lit in colours:
        assert contrast(back, text) >= 7
        assert contrast(lit, text) >= 4.5
        assert back != lit
    assert sum(colours[0][0]) > 600 > 200 > sum(colours[1][0])


def contrast(one, other):
    """Of two colours, as WCAG 2 has it."""
    def luminance(colour):
        parts = [x / 255 for x in colour]
        r, g, b = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_in_a_cell_of_a_notebook(driver, tmp_path):
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><body>{page('selu')._repr_html_()}", "utf-8")
    browser.resize(driver, 1280, 900)
    driver.get(f"file://{cell}")
    driver.switch_to.frame(0)
    part(driver, "jaxpr", "= exp").click()
    assert len(driver.find_elements(By.CSS_SELECTOR, "#c .lit")) > 0
    driver.switch_to.default_content()
    assert browser_console(driver) == []
