"""What a caller may set for one run: LangGraph's `context`, editable in Studio.

A field left out stays as the agent was built. Nothing here widens rights: tools,
policies, authorisation rules and approvals are the builder's.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from mendgraph.state.record import Record
from mendgraph.tools.models.factory import open_model
from mendgraph.tools.models.reasoner import Reasoner
from mendgraph.tools.run import Deps


class RunSettings(Record):
    """Model and allowances of one run."""

    model: str | None = Field(
        default=None,
        description="provider:model, such as deepseek:deepseek-flash",
    )
    retries: int | None = Field(
        default=None, ge=0, description="Retries of all steps together"
    )
    corrections_per_step: int | None = Field(
        default=None, ge=0, description="Reflection-directed fixes of one step"
    )
    replans: int | None = Field(default=None, ge=0, description="Changes of the plan")
    clarifications: int | None = Field(
        default=None, ge=0, description="Questions to a person"
    )
    executions: int | None = Field(
        default=None, ge=1, description="Tool calls, retries included"
    )
    model_calls: int | None = Field(
        default=None, ge=0, description="Requests to the model"
    )
    reasoning_tokens: int | None = Field(
        default=None, ge=0, description="Tokens the model may produce"
    )
    total_tokens: int | None = Field(
        default=None, ge=0, description="Tokens of all prompts and answers"
    )
    seconds: float | None = Field(
        default=None, gt=0, description="Working time, waits for people not counted"
    )
    inline_wait_s: float | None = Field(
        default=None, ge=0, description="A longer wait pauses the run, in seconds"
    )
    concurrency: int | None = Field(
        default=None, ge=1, description="Tool calls at once"
    )


def read_settings(context: object) -> RunSettings:
    """Return our settings in a run's context; another graph's context has none."""
    if isinstance(context, RunSettings):
        return context
    if not isinstance(context, Mapping):
        return RunSettings()
    ours = {k: v for k, v in context.items() if k in RunSettings.model_fields}
    return RunSettings.model_validate(ours)


async def settled(deps: Deps, context: object) -> Deps:
    """Return the dependencies with a run's settings in place.

    Raises:
        ModelSetupError: The model named cannot be opened.
        ValueError: A setting has no possible value.
    """
    if deps.depth or not context:
        return deps  # a sub-task's slice was cut from the run's settings already
    chosen = read_settings(context).model_dump(exclude_none=True)
    if not chosen:
        return deps
    name = chosen.pop("model", None)
    changes: dict[str, Any] = {"limits": deps.limits.but(**chosen)}
    if name:
        changes["reasoner"] = await _reasoner(deps, name)
    return replace(deps, **changes)


async def _reasoner(deps: Deps, name: str) -> Reasoner:
    """Open a model once; its client reads certificates, so off the event loop."""
    if name not in deps.reasoners:
        model = await asyncio.to_thread(open_model, name)
        models = [] if model is None else [model]
        reasoner = Reasoner(models, clock=deps.clock, sleep=deps.sleep)
        deps.reasoners[name] = reasoner
    return deps.reasoners[name]
