"""Rehearse a plan against injected faults, so that a cold start is not cold (F56).

The real tools run behind faults that are announced; a tool with an effect is never
called, it needs a stand-in. What is learned is marked as rehearsed and kept.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from mendgraph.graph.build import create_mend_agent
from mendgraph.nodes.learning import REHEARSAL
from mendgraph.state.policy import ToolPolicy
from mendgraph.state.record import Record
from mendgraph.tools.cel import RuleError, compile_rule
from mendgraph.tools.contained import guarded
from mendgraph.tools.doubles.faulty import (
    Attempt,
    Fault,
    delayed,
    empty,
    http_status,
    raising,
    saying,
    silent,
    stale,
    truncated,
    wrong_type,
)
from mendgraph.tools.errors import ConfigError
from mendgraph.tools.registry import Entry, make_registry

NOTE = "rehearsed: faults are injected into this tool"
ERRORS: dict[str, type[Exception]] = {
    each.__name__: each
    for each in (
        ConnectionError,
        FileNotFoundError,
        KeyError,
        LookupError,
        OSError,
        PermissionError,
        RuntimeError,
        TimeoutError,
        TypeError,
        ValueError,
    )
}
"""Exceptions a faults file may name."""


class Injection(Record):
    """One fault of a faults file, or the stand-in of a tool with an effect."""

    tool: str
    kind: str = "error"
    """error, http_status, empty, silent, wrong_type, truncated, stale, delayed, or
    stand_in."""
    attempts: tuple[int, ...] = ()
    """Calls of the tool it hits, from 1; all of them when empty."""
    when: str | None = None
    """CEL over `args`: it hits only these calls, so other arguments mend it."""
    error: str = "RuntimeError"
    message: str = "injected"
    status: int = 503
    seconds: float = Field(default=0.0, ge=0)
    value: Any = None
    """What the stand-in, or a silent tool, says."""


KINDS: dict[str, Callable[[Injection], Fault]] = {
    "error": lambda each: raising(ERRORS[each.error](each.message)),
    "http_status": lambda each: http_status(
        each.status, body={"error": {"message": each.message}}
    ),
    "empty": lambda _each: empty(),
    "silent": lambda each: silent(each.value),
    "wrong_type": lambda _each: wrong_type(),
    "truncated": lambda _each: truncated(),
    "stale": lambda _each: stale(),
    "delayed": lambda each: delayed(each.seconds),
    "stand_in": lambda each: saying(each.value),
}


class Rehearsed(Record):
    """What a rehearsal came to."""

    runs: tuple[dict[str, Any], ...]
    """Of each run: status, executions, corrections, model_calls."""
    lessons: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """What was learned, by id."""


def rehearse(
    plan: Mapping[str, Any],
    tools: Iterable[Any],
    faults: Iterable[Injection | Mapping[str, Any]],
    *,
    policies: Mapping[str, ToolPolicy | Mapping[str, Any]] | None = None,
    runs: int = 3,
    **options: Any,
) -> Rehearsed:
    """Run a plan several times against injected faults and keep what is learned.

    Args:
        plan: A plan as a plan file holds it.
        tools: The real tools.
        faults: What goes wrong, and the stand-ins of tools with an effect.
        policies: As for `create_mend_agent`.
        runs: Times the plan is run; the second success makes a strategy.
        options: Further arguments of `create_mend_agent`, such as `persist`.

    Raises:
        ConfigError: A fault names no tool or kind, or an effect has no stand-in.
    """
    given = list(tools)
    injected = [_injection(each) for each in faults]
    registry = make_registry(given, policies, options.get("assume", "write"))
    doubles = [
        _double(entry, injected) for entry in registry if _named(entry, injected)
    ]
    agent = create_mend_agent(
        options.pop("model", None),
        tools=_with(given, doubles),
        policies=policies,
        **options,
    )
    try:
        return asyncio.run(_rehearsed(agent, dict(plan), runs))
    finally:
        agent.close()


def _injection(fault: Injection | Mapping[str, Any]) -> Injection:
    read = fault if isinstance(fault, Injection) else Injection.model_validate(fault)
    if read.kind not in KINDS:
        raise ConfigError(
            f"no fault is called {read.kind!r}; known: {', '.join(KINDS)}"
        )
    if read.kind == "error" and read.error not in ERRORS:
        raise ConfigError(f"no error {read.error!r}; known: {', '.join(ERRORS)}")
    try:
        compile_rule(read.when or "true")
    except RuleError as error:
        raise ConfigError(str(error)) from error
    return read


def _named(entry: Entry, injected: Sequence[Injection]) -> bool:
    """Tell whether a tool needs a double; refuse an effect without a stand-in."""
    own = [each for each in injected if each.tool == entry.name]
    safe = not entry.policy.has_effect or entry.policy.simulatable
    if not safe and not any(each.kind == "stand_in" for each in own):
        raise ConfigError(
            f"{entry.name} has an effect and is not called in a rehearsal; give it a "
            f'stand-in: {{"tool": "{entry.name}", "kind": "stand_in", "value": …}}'
        )
    return bool(own)


def _double(entry: Entry, injected: Sequence[Injection]) -> BaseTool:
    """Return the tool behind its faults; the first that fits a call is injected."""
    own = [each for each in injected if each.tool == entry.name]
    faults = sorted(own, key=lambda each: each.kind == "stand_in")
    seen: list[Any] = []
    calls: list[dict[str, Any]] = []

    async def call(**arguments: Any) -> Any:
        calls.append(arguments)

        async def real() -> Any:
            value = await guarded(entry.tool).ainvoke(arguments)
            seen.append(value)
            return value

        attempt = Attempt(len(calls), arguments, real, seen)
        hit = next((each for each in faults if _hits(each, attempt)), None)
        return await (KINDS[hit.kind](hit)(attempt) if hit else real())

    return StructuredTool.from_function(
        coroutine=call,
        name=entry.name,
        description=f"{entry.tool.description}\n({NOTE})",
        args_schema=entry.tool.args_schema,
        infer_schema=False,
    )


def _hits(each: Injection, attempt: Attempt) -> bool:
    if each.attempts and attempt.number not in each.attempts:
        return False
    known = {"args": {k: v for k, v in attempt.arguments.items() if v is not None}}
    try:
        return each.when is None or compile_rule(each.when).holds(known)
    except RuleError:
        return False


def _with(given: Sequence[Any], doubles: Sequence[BaseTool]) -> list[Any]:
    names = {double.name for double in doubles}
    kept = [tool for tool in given if _name(tool) not in names]
    return [*kept, *doubles]


def _name(tool: Any) -> str:
    return str(tool.name if isinstance(tool, BaseTool) else tool.__name__)


async def _rehearsed(agent: Any, plan: dict[str, Any], runs: int) -> Rehearsed:
    before = await _known(agent)
    told = [await _run(agent, plan, number) for number in range(1, runs + 1)]
    after = await _known(agent)
    learned = {kind: tuple(sorted(after[kind] - before[kind])) for kind in after}
    return Rehearsed(runs=tuple(told), **learned)


async def _run(agent: Any, plan: dict[str, Any], number: int) -> dict[str, Any]:
    thread = f"rehearsal-{number}-{agent.held.deps.new_id()[:8]}"
    settings = {"thread_id": thread, REHEARSAL: True}
    given = {"task": f"rehearsal {number}", "plan": plan}
    result = await agent.ainvoke(given, {"configurable": settings})
    report = result.get("report") or {}
    figures = {
        k: report.get(k, 0) for k in ("executions", "corrections", "model_calls")
    }
    return {"status": result.get("status", "waiting"), **figures}


async def _known(agent: Any) -> dict[str, set[str]]:
    deps = agent.held.deps
    library = deps.library(deps.store)
    await library.ensure()
    lessons = await deps.memory.all() if deps.memory else []
    return {
        "lessons": {lesson.id for lesson in lessons},
        "strategies": {each.id for each in await library.strategies.all()},
        "rules": {rule.id for rule in library.rules.all()},
    }


def read_faults(path: Path | str) -> list[Injection]:
    """Return the faults of a JSON or YAML file: a list of objects.

    Raises:
        ConfigError: The file cannot be read or holds something else.
    """
    import yaml

    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return [_injection(each) for each in found]
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is no list of faults: {error}") from error


def main(
    plan_file: Path,
    tools_spec: Sequence[str],
    faults_file: Path,
    persist: Path,
    model: str | None = None,
    as_json: bool = False,
) -> int:
    """Rehearse a plan file; print what was learned; return the exit code."""
    from mendgraph.cli.plan_file import read_plan
    from mendgraph.cli.tool_spec import load_tools

    found = load_tools(tools_spec, Path.cwd())
    done = rehearse(
        read_plan(plan_file),
        found.tools,
        read_faults(faults_file),
        policies=found.policies,
        model=model,
        persist=persist,
    )
    told = done.plain()
    if as_json:
        print(json.dumps(told, ensure_ascii=False))  # noqa: T201  the output is JSON
        return 0
    for number, run in enumerate(done.runs, 1):
        print(f"run {number}: " + ", ".join(f"{k} {v}" for k, v in run.items()))  # noqa: T201  as above
    for kind in ("lessons", "strategies", "rules"):
        print(f"{kind} learned: {len(told[kind])}")  # noqa: T201  as above
    return 0


__all__ = ["Injection", "Rehearsed", "main", "read_faults", "rehearse"]
