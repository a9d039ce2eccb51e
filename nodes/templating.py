"""Render the templates of prompts; data comes in fenced, never as template text."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from pydantic import BaseModel

from mendgraph.state.tokens import count_tokens
from mendgraph.tools.models.instruct import instruction
from mendgraph.tools.models.untrusted import as_data

Prompt = dict[str, str]
"""`system` and `user`."""
TEMPLATES = Path(__file__).with_name("templates")
FRAME_TOKENS = 16
"""Tokens of roles and separators around both messages."""
ENOUGH = 1_000_000
"""Characters of one fence; the texts are bounded in tokens before."""


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  prompts are plain text, never HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(role: str, system: Mapping[str, Any], user: Mapping[str, Any]) -> Prompt:
    """Return both texts of a role."""
    get = _environment().get_template
    return {
        "system": get(f"{role}.system.jinja").render(**system).strip(),
        "user": get(f"{role}.user.jinja").render(**user).strip(),
    }


def data(text: str, label: str) -> str:
    """Return a text fenced as data; nothing stays nothing."""
    return as_data(text, label, max_chars=ENOUGH) if text.strip() else ""


def prompt_tokens(prompt: Prompt, schema: type[BaseModel]) -> int:
    """Return the tokens a prompt comes to, the instruction for its answer included."""
    told = (*prompt.values(), instruction(schema))
    return sum(map(count_tokens, told)) + FRAME_TOKENS
