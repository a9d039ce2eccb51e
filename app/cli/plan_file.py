"""Reading a plan file, JSON or YAML; what cannot be read is told with its line."""

import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from mendgraph.cli.faults import WrongUse
from mendgraph.state.algebra import PlanError
from mendgraph.state.limits import Limits
from mendgraph.state.plan import Plan
from mendgraph.tools.plan_check import check_plan
from mendgraph.tools.registry import Registry

YAML_SUFFIXES = frozenset({".yaml", ".yml"})
TIMESTAMP = "tag:yaml.org,2002:timestamp"


class PlanLoader(yaml.SafeLoader):
    """YAML as JSON knows it: a date stays the text it was written as."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (PyYAML's own class attribute)
        first: [pair for pair in pairs if pair[0] != TIMESTAMP]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def read_plan(path: Path) -> dict[str, Any]:
    """Return the plan in a file as plain values.

    Raises:
        WrongUse: The file cannot be read; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise WrongUse(f"cannot read the plan {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WrongUse(f"the plan {path} is not UTF-8 text: {error}") from error
    read = _yaml if path.suffix.lower() in YAML_SUFFIXES else _json
    found = read(path, text)
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise WrongUse(f'the plan {path} holds a {kind}; write {{"steps": [...]}}')
    return found


def check_given(given: dict[str, Any], registry: Registry, limits: Limits) -> Plan:
    """Return the plan if it may run with these tools.

    Raises:
        PlanError: It may not; every fault is named.
    """
    try:
        plan = Plan.model_validate(given)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise PlanError(
            ".".join(str(part) for part in fault["loc"]) + f": {fault['msg']}"
            for fault in faults
        ) from error
    return check_plan(plan, registry, limits)


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise WrongUse(
            f"the plan {path} is no JSON: line {error.lineno}, column {error.colno}: "
            f"{error.msg}"
        ) from error


def _yaml(path: Path, text: str) -> Any:
    try:
        return yaml.load(text, PlanLoader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "?"
        raise WrongUse(
            f"the plan {path} is no YAML: {where}: {error.problem}"
        ) from error
    except yaml.YAMLError as error:
        raise WrongUse(f"the plan {path} is no YAML: {error}") from error
