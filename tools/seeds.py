"""Strategies and rules that ship with the package, for a cold start (F56)."""

import json
from functools import lru_cache
from importlib import resources
from typing import Any

from mendgraph.state.lesson import MendRule, Strategy


def seed_strategies(now: float) -> list[Strategy]:
    """Return the shipped strategies, created now (seconds since the epoch)."""
    return [
        Strategy.model_validate({**item, "source": "seed", "created_at": now})
        for item in _seeds()["strategies"]
    ]


def seed_rules(now: float) -> list[MendRule]:
    """Return the shipped rules, created now (seconds since the epoch)."""
    return [
        MendRule.model_validate({**item, "source": "seed", "created_at": now})
        for item in _seeds()["rules"]
    ]


@lru_cache(maxsize=1)
def _seeds() -> dict[str, list[dict[str, Any]]]:
    file = resources.files("mendgraph.tools.memory") / "seeds.json"
    seeds: dict[str, list[dict[str, Any]]] = json.loads(file.read_text("utf-8"))
    return seeds
