"""The report in a real browser: nothing loaded, nothing overlapping, both themes."""

import os
import re
import runpy
import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from mendgraph.report import render, view

STATES = runpy.run_path(
    str(Path(__file__).parents[1] / "services" / "report_states.py")
)
BOXES = {"healed": 5, "wide": 51, "failed": 8}
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PICTURES = os.environ.get("MENDGRAPH_REPORT_PICTURES")
"""A folder that keeps the screenshots; people look at them, no test compares them."""
pytestmark = [pytest.mark.browser, pytest.mark.enable_socket]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium, or a skip that says what is missing."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium was found on the PATH (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        yield started
        started.close()


class Opened:
    """A page with what it said and asked for."""

    def __init__(self, browser: Any, file: Path, theme: str) -> None:
        self.page = browser.new_page(
            viewport={"width": 1280, "height": 900}, color_scheme=theme
        )
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def rectangles(self, selector: str) -> list[tuple[float, float, float, float]]:
        """Left, top, right, bottom of every match, in pixels."""
        return [
            (r["left"], r["top"], r["right"], r["bottom"])
            for r in self.page.eval_on_selector_all(
                selector,
                "all => all.map(one => one.getBoundingClientRect().toJSON())",
            )
        ]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a made-up run's report."""
    pages: list[Opened] = []

    def open_(name: str, theme: str = "light") -> Opened:
        given = STATES[name]()
        file = tmp_path / f"{name}.html"
        file.write_text(render(view(given.pop("state"), **given)), encoding="utf-8")
        pages.append(Opened(browser, file, theme))
        return pages[-1]

    yield open_
    for each in pages:
        each.page.close()


def overlapping(rectangles: list[tuple[float, float, float, float]]) -> int:
    return sum(
        1
        for a, b in combinations(rectangles, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    )


@pytest.mark.parametrize("name", BOXES)
def test_it_opens_offline_without_a_complaint(opened: Any, name: str) -> None:
    """One request, for the file itself; the console stays silent; all boxes drawn."""
    shown = opened(name)
    assert len(shown.asked) == 1
    assert shown.asked[0].startswith("file:")
    assert shown.said == []
    assert shown.page.locator("svg.dag .box").count() == BOXES[name]


@pytest.mark.parametrize("name", BOXES)
def test_texts_of_the_plan_do_not_overlap(opened: Any, name: str) -> None:
    """No two texts of boxes cover each other and none leaves its box."""
    shown = opened(name)
    assert overlapping(shown.rectangles("svg.dag .box text")) == 0
    boxes = shown.rectangles("svg.dag .box rect")
    for text in shown.rectangles("svg.dag .box text"):
        assert any(
            box[0] <= text[0] and text[2] <= box[2] and box[1] <= text[1] <= box[3]
            for box in boxes
        )


@pytest.mark.parametrize("name", BOXES)
def test_texts_of_the_timeline_do_not_overlap(opened: Any, name: str) -> None:
    """Every label of a bar can be read."""
    shown = opened(name)
    assert overlapping(shown.rectangles("svg.time .bar text")) == 0
    assert overlapping(shown.rectangles("svg.time .bar rect")) == 0


@pytest.mark.parametrize("name", BOXES)
def test_nothing_sticks_out_of_the_page(opened: Any, name: str) -> None:
    """The page itself never scrolls sideways, on a desk or on a telephone."""
    shown = opened(name)
    for width in (1280, 390):
        shown.page.set_viewport_size({"width": width, "height": 800})
        overhang = "document.documentElement.scrollWidth - window.innerWidth"
        assert shown.page.evaluate(overhang) <= 0


CONTRAST = """() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const rect = at.matches('.box, .bar') && at.querySelector('rect');
      if (rect && !element.matches('.beside'))
        return parse(getComputedStyle(rect).fill);
      const c = parse(getComputedStyle(at).backgroundColor);
      if (c.length === 3) return c;
    }
    return [255, 255, 255];
  };
  const worst = {};
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || ['TITLE', 'title', 'desc', 'STYLE'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const a = light(parse(ink)), b = light(ground(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) worst[element.outerHTML.slice(0, 90)] = ratio;
  }
  return worst;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", BOXES)
def test_contrast_is_enough_in_both_themes(opened: Any, name: str, theme: str) -> None:
    """Every text has at least 4.5 : 1 against its ground (WCAG 2.2, 1.4.3)."""
    shown = opened(name, theme)
    assert shown.page.evaluate(CONTRAST) == {}


def test_the_two_themes_differ(opened: Any) -> None:
    """The reader's preference decides the ground."""
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = (
        sum(map(int, re.findall(r"\d+", opened("healed", theme).page.evaluate(ground))))
        for theme in ("light", "dark")
    )
    assert light > 700
    assert dark < 100


def test_a_box_leads_to_its_row_by_keyboard(opened: Any) -> None:
    """Boxes take the focus and Enter goes to the step's row."""
    page = opened("failed").page
    page.locator("svg.dag .box").nth(3).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('tr:target th').textContent") == (
        "refund"
    )


def test_print_shows_everything_without_windows(opened: Any) -> None:
    """On paper nothing is hidden in a scrolled window and the graph fits the width."""
    page = opened("wide").page
    page.set_viewport_size({"width": 720, "height": 1000})
    page.emulate_media(media="print", color_scheme="dark")
    hidden = """all => all.filter(one => one.scrollHeight > one.clientHeight + 2
      || one.scrollWidth > one.clientWidth + 2).length"""
    assert page.eval_on_selector_all(".scroll:not(details *)", hidden) == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", BOXES)
def test_a_picture_can_be_taken(
    opened: Any, name: str, theme: str, tmp_path: Path
) -> None:
    """The whole page as a picture, kept where `MENDGRAPH_REPORT_PICTURES` says."""
    file = Path(PICTURES or tmp_path) / f"report-{name}-{theme}.png"
    opened(name, theme).page.screenshot(path=file, full_page=True)
    assert file.read_bytes().startswith(b"\x89PNG")
