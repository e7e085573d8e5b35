"""The debugger's page in a browser: every move, what it shows at every place, the keyboard; no error on the console."""
import json

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.inspection.debugger.test_session import LINE, X, f
from tests.inspection.explorer import browser
from tests.inspection.explorer.test_in_browser import browser_console
from tinytrace.inspection.debugger import page
from tinytrace.inspection.debugger.session import debugger
from tinytrace.inspection.recording import summary

pytestmark = pytest.mark.skipif(bool(browser.MISSING), reason=f"left out: there is no {browser.MISSING} here")

# At each place of the run: the first line of what is said, the variables, the lines that light up.
EVERYWHERE = """
const found = [], slider = document.getElementById('slider');
for (let p = +slider.min; p <= +slider.max; p++) {
  slider.value = p;
  slider.dispatchEvent(new Event('input'));
  found.push([document.getElementById('where').textContent.split('\\n')[0],
    [...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent)),
    ['python', 'jaxpr', 'run'].map(id => [...new Set([...document.querySelectorAll(`#${id} .lit, #${id} .at`)]
      .map(e => e.closest('.l').dataset.n))])]);
}
return JSON.stringify(found)"""
AT = "return [+document.getElementById('slider').value, document.getElementById('where').textContent]"


def nested(xs):
    def row(total, x):
        inner = jax.lax.fori_loop(0, 40, lambda i, c: jnp.sin(c) + x, total)
        return jax.lax.cond(x > 2, jnp.negative, lambda v: v * 2, inner), inner
    return jax.lax.scan(row, 0.5, xs)


def opened(driver, session, width=1280):
    browser.resize(driver, width, 720)
    browser.set_dark(driver, False)
    driver.get("about:blank")
    browser.show(driver, type("Page", (), {"html": session.page.to_html()}))
    return driver


@pytest.mark.parametrize("case", [lambda: debugger(f)(X), lambda: debugger(nested)(jnp.arange(5.0)).to(250)])
def test_each_place_shows_what_the_session_knows(driver, case, monkeypatch):
    monkeypatch.setattr(page, "STEPS", 120)  # of the second: the page begins and ends inside of two loops
    session = case()
    window, events = session.page._window, session.recording.events
    found = json.loads(opened(driver, session).execute_script(EVERYWHERE))
    assert len(found) == len(window) + 1
    here = session.position
    for number, (where, rows, (python, jaxpr, run)) in zip(window, found, strict=False):
        session.to(number)
        known = {name: summary(value) for name, value in session.values.items() if name != "_"}
        assert {name: value for name, _, value in rows} == known
        assert where.startswith("".join(f"{text}: " for text in session.where()[:-1]) + f"equation {number}")
        assert run == [str(number)]
        assert jaxpr
        assert not (source := events[number].equation.source) or str(source.line) in python
    assert found[-1][2] == [[], [], [""]]
    session.to(here)
    assert browser_console(driver) == []


def test_moves_are_those_of_the_session(driver):
    session = debugger(f)(X)
    opened(driver, session)
    for name in ["step", "step", "step", "next", "out", "back", "out", "back", "step"]:
        getattr(session, name)()
        driver.find_element(By.CSS_SELECTOR, f"[data-move={name}]").click()
        assert driver.execute_script(AT)[0] == session.position, name
    driver.find_element(By.CSS_SELECTOR, "[data-move=start]").click()
    assert driver.execute_script(AT)[0] == 0
    driver.find_element(By.CSS_SELECTOR, "[data-move=end]").click()
    assert driver.execute_script(AT) == [len(session.recording.events), "the end"]
    assert browser_console(driver) == []


@pytest.mark.parametrize(("typed", "wanted"), [("scan", {"primitive": "scan"}), ("nan", {"nan": True}),
                                               (str(LINE + 3), {"line": LINE + 3})])
def test_until(driver, typed, wanted):
    session = debugger(f)(X)
    opened(driver, session)
    ActionChains(driver).send_keys("u", typed, Keys.ENTER).perform()
    assert driver.execute_script(AT)[0] == session.until(**wanted).position > 0
    driver.find_element(By.CSS_SELECTOR, "[data-move=earlier]").click()
    assert driver.execute_script(AT)[1].endswith("before this place on this page.")
    driver.find_element(By.CSS_SELECTOR, "[data-move=end]").click()
    driver.find_element(By.CSS_SELECTOR, "[data-move=earlier]").click()
    assert session.to(driver.execute_script(AT)[0]).event is not None
    assert session.until(**wanted).event is None


def test_the_keyboard_and_the_mouse(driver):
    opened(driver, debugger(f)(X))
    ActionChains(driver).send_keys("s", Keys.ARROW_RIGHT, "n").perform()
    at, where = driver.execute_script(AT)
    assert (at, where.split("-> ")[1]) == (9, "d:f32[3] = sub z 100.0")
    assert driver.find_element(By.CSS_SELECTOR, ".read.fresh td").text == "z"
    ActionChains(driver).send_keys("b", Keys.HOME, Keys.END, Keys.ARROW_LEFT).perform()
    assert driver.execute_script(AT)[0] == 11
    driver.find_elements(By.CSS_SELECTOR, "#run .l")[4].click()
    assert driver.execute_script(AT)[0] == 4
    part = [e for e in driver.find_elements(By.CSS_SELECTOR, "#jaxpr [data-s]") if " = log" in e.text]
    part[-1].click()
    assert "log" in driver.execute_script(AT)[1]
    assert driver.find_element(By.ID, "where").aria_role == "status"
    assert driver.find_element(By.ID, "slider").accessible_name == "Place in the run"
    assert browser_console(driver) == []


def test_a_phone_and_no_script(driver):
    opened(driver, debugger(f)(X), 390)
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(driver, debugger(f)(X))
        assert "w:f32[3] = log d  # [nan, nan, nan]" in driver.find_element(By.ID, "run").text
        assert not driver.find_element(By.ID, "moves").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
