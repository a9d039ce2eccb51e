"""The page: one file, nothing loaded, nothing executed, every text escaped."""

import base64
import hashlib
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mendgraph.report import render, view

STATES = runpy.run_path(
    str(Path(__file__).parents[1] / "services" / "report_states.py")
)
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects tags and ids and checks that tags are nested properly."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.attributes |= given.keys()
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(name: str, **changes) -> str:
    given = STATES[name]()
    return render(view({**given.pop("state"), **changes}, **given))


@pytest.mark.parametrize("name", ["healed", "wide", "failed"])
def test_the_page_is_well_formed(name) -> None:
    """Tags nest, ids are unique and every link leads to a place on the page."""
    outline = Outline(page(name))
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert {link[1:] for link in outline.links} <= set(outline.ids)


def test_the_page_neither_loads_nor_runs_anything() -> None:
    """No script, no handler, no address; the policy allows the one style by hash."""
    text = page("healed")
    outline = Outline(text)
    assert not {"script", "img", "link", "iframe", "object"} & set(outline.tags)
    assert not [name for name in outline.attributes if name.startswith("on")]
    assert not {"src", "style"} & outline.attributes
    assert re.findall(r"https?://[^\"<\s]+", text) in (
        [],
        ["http://www.w3.org/2000/svg"] * 2,
    )
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = hashlib.sha256(style[1].encode()).digest()
    wanted = f"style-src 'sha256-{base64.b64encode(digest).decode()}'"
    assert wanted in text
    assert "default-src 'none'" in text


def test_hostile_text_stays_text() -> None:
    """Markup in tasks, ids, errors and answers is shown, not obeyed."""
    evil = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>"
    state = {
        "task": evil,
        "answer": evil,
        "status": "failed",
        "plan": {"steps": [STATES["step"](evil, evil, evil)]},
        "steps": {
            evil: STATES["record"](
                evil,
                "failed",
                STATES["attempt"](1, evil, 0, 1, status="failed", error=evil),
            )
        },
        "notes": [{"text": evil}],
        "answers": [{"question": evil, "answer": evil}],
    }
    ledger = [STATES["effect"]("k", evil, evil, "done", **{evil: evil})]
    outline = Outline(render(view(state, ledger=ledger)))
    assert "script" not in outline.tags
    assert "img" not in outline.tags
    assert not [name for name in outline.attributes if name.startswith("on")]


def test_a_partial_run_leads_with_what_is_missing() -> None:
    """The reasons stand before the figures and the plan."""
    text = page("failed")
    where = [
        text.index(words)
        for words in (
            "Partly done: 3 of 8 steps",
            "Nobody knows whether the effect",
            "Not done (5), and why",
            'id="figures"',
            'id="plan"',
        )
    ]
    assert where == sorted(where)


def test_every_step_has_a_box_and_a_row() -> None:
    """The graph and its table show the same steps."""
    text = page("wide")
    assert len(re.findall(r'class="box ', text)) == 51
    assert len(re.findall(r'<tr id="step-\d+">', text)) == 51
    assert "one-of" not in text


def test_causes_are_only_called_confirmed_when_they_are() -> None:
    """Two reflections, one confirmed: the page says so once."""
    text = page("healed")
    assert text.count('<b class="yes">confirmed</b>') == 1
    assert text.count("not confirmed") == 1


def test_an_empty_thread_gives_a_page_that_claims_nothing() -> None:
    """Before anything happened each section says that there is nothing."""
    text = render(view({}))
    assert "There is no plan with steps." in text
    assert "No call has been made." in text
    assert Outline(text).open == []


def test_large_runs_stay_quick_and_complete() -> None:
    """Three hundred steps: every one is on the page."""
    text = page("long")
    assert len(re.findall(r'class="box ', text)) == 300
    assert len(text) < 1_000_000
