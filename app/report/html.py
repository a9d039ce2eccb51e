"""One self-contained page from a run's view: no script, no request, all text escaped.

The policy in the page's head forbids everything but its one style sheet, which is
named by its hash (Content Security Policy Level 3, W3C).
"""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mendgraph.report import dag, layout, timeline, words
from mendgraph.report.records import RunView

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent


def render(view: RunView) -> str:
    """Return the report as one HTML document that opens offline."""
    from markupsafe import Markup

    style = _style()
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            view=view,
            style=Markup(style),  # noqa: S704 (our own file, read from the package)
            style_hash=_hash(style),
            plan=dag.draw(view.nodes),
            times=timeline.picture(view.bars, view.thoughts),
            numbers={node.id: number for number, node in enumerate(view.nodes)},
        )
    )


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "duration": words.duration,
        "marked": words.marked,
        "moment": words.moment,
        "number": words.number,
        "plural": words.plural,
        "phrase": words.phrase,
        "fit": words.fit,
        "SYMBOLS": dag.SYMBOLS,
        "SIGNS": timeline.SIGNS,
        "BOX": (layout.WIDTH, layout.HEIGHT),
        "BAR": timeline.BAR,
    }
    return environment


@cache
def _style() -> str:
    return (FOLDER / "report.css").read_text(encoding="utf-8")


def _hash(style: str) -> str:
    digest = hashlib.sha256(style.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
