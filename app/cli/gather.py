"""Everything that is known of a thread, collected for `show` and `report`."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from langgraph.types import StateSnapshot

from mendgraph.cli.opening import config_of
from mendgraph.cli.settings import recall
from mendgraph.graph.agent import MendGraph
from mendgraph.report import RunView, view
from mendgraph.state.limits import Limits
from mendgraph.tools.vault import Vault

CHECKPOINTS = 500
"""How far back earlier plan versions are looked for."""


async def gather(agent: MendGraph, thread: str, snapshot: StateSnapshot) -> RunView:
    """Return the view of a thread, the results of an unfinished round included."""
    deps = agent.held.deps
    library, vault = deps.library(deps.store), Vault(deps.store, thread)
    values = snapshot.values
    kept = await vault.outcomes(str(values.get("round") or "-"))
    ledger_id = f"{thread}:{values.get('task_id')}"
    return view(
        _state(values, kept, _limits(agent, thread)),
        ledger=[each.plain() for each in await library.ledger.of_thread(ledger_id)],
        strategies=[each.plain() for each in await library.strategies.all()],
        reasoning=await vault.reasoning(),
        history=_versions(agent, thread, values),
    )


def _limits(agent: MendGraph, thread: str) -> dict[str, Any]:
    settings = recall(agent.held.deps.store, thread)
    given = settings.limits if settings else {}
    return Limits.model_validate(given).plain()


def _state(
    values: Mapping[str, Any],
    kept: Mapping[str, Mapping[str, Any]],
    limits: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the channels with what branches kept before their round was over."""
    state = {"limits": limits, **values}
    if not kept or values.get("status") != "running":
        return state
    records = {step_id: each["record"] for step_id, each in kept.items()}
    trails = {
        name: [*(values.get(name) or ()), *_new(kept, name)]
        for name in ("corrections", "reflections", "notes")
    }
    return {**state, **trails, "steps": {**(values.get("steps") or {}), **records}}


def _new(kept: Mapping[str, Mapping[str, Any]], name: str) -> list[Any]:
    return [entry for outcome in kept.values() for entry in outcome.get(name) or ()]


def _versions(
    agent: MendGraph, thread: str, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the plans of all versions that the thread's history holds."""
    plan = values.get("plan") or {}
    if plan.get("version", 1) == 1:
        return []
    found: dict[int, dict[str, Any]] = {}
    config = config_of(thread)
    for past in islice(agent.get_state_history(config), CHECKPOINTS):
        older = past.values.get("plan") or {}
        same_task = past.values.get("task_id") == values.get("task_id")
        if same_task and "version" in older and "given" not in older:
            found.setdefault(older["version"], older)
    return list(found.values())
