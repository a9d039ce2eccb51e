"""create_mend_agent: the one way to build the graph."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from mendgraph.graph.agent import Held, MendGraph
from mendgraph.graph.given import DATABASES, check_given, limits_of
from mendgraph.graph.plan_loop import plan_loop
from mendgraph.graph.recast import recast
from mendgraph.state.correction import MATRIX, Row
from mendgraph.state.limits import Limits
from mendgraph.state.policy import AuthRule, ToolPolicy
from mendgraph.tools.errors import ConfigError, UnknownTool
from mendgraph.tools.lease_kinds import choose_lease
from mendgraph.tools.memory.protocol import Memory
from mendgraph.tools.models.factory import open_model
from mendgraph.tools.models.reasoner import Reasoner
from mendgraph.tools.persist import Persist, PersistFolder, open_folder, open_postgres
from mendgraph.tools.policy_check import readable, rule_problems
from mendgraph.tools.registry import SUBTASK, Registry, ToolLike, make_registry
from mendgraph.tools.run import Deps

Model = str | BaseChatModel
InterruptOn = Mapping[str, bool | Mapping[str, Any]]

DECISIONS = ("approve", "edit", "reject", "respond")
THREADS_AT_ONCE = 1_024
"""Branches LangGraph may hold at once; our own limits decide how many work."""


def create_mend_agent(  # noqa: PLR0913 (keyword-only settings)
    model: Model | None = None,
    *,
    tools: Iterable[ToolLike] = (),
    policies: Mapping[str, ToolPolicy | Mapping[str, Any]] | None = None,
    assume: Literal["write", "read"] = "write",
    authorise: Sequence[AuthRule | Mapping[str, Any]] = (),
    interrupt_on: InterruptOn | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    fallback_models: Sequence[Model] = (),
    persist: str | Path | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    memory: Memory | None = None,
    matrix: tuple[Row, ...] = MATRIX,
    seeded: bool = True,
    learn: bool = True,
    paths: int = 3,
    name: str = "mendgraph",
    clock: Callable[[], float] = time.time,
    new_id: Callable[[], str] = lambda: uuid4().hex,
    sleep: Callable[[float], Any] = asyncio.sleep,
) -> MendGraph:
    """Build an agent that plans, executes, watches, mends and learns.

    Args:
        model: A name such as `deepseek:deepseek-flash`, any LangChain chat model, or
            None to run given plans without a model.
        tools: LangChain tools or callables.
        policies: Tool name → what it may do and how it is called safely.
        assume: What a tool without a policy is taken for; `write` is the safe choice.
        authorise: Rules that allow, ask or deny calls; the first that matches decides,
            a deny always wins.
        interrupt_on: Tools a person must approve, in the grammar of LangChain's
            HumanInTheLoopMiddleware.
        limits: Allowances of one task, or their fields as a mapping.
        fallback_models: Asked in order when the model does not answer.
        persist: A folder for SQLite checkpoints, store and Chroma memory, or a
            `postgresql://` address for checkpoints and store.
        checkpointer: Instead of `persist`: any LangGraph checkpointer.
        store: Instead of `persist`: any LangGraph store.
        memory: Long-term memory of lessons; by default in the folder, else in memory.
        matrix: The correction matrix, see `mendgraph.state.correction.override`.
        seeded: Begin with the shipped strategies and rules.
        learn: Keep lessons, strategies and statistics for later tasks.
        paths: Candidate plans for risky tasks, 1 to 3.
        name: Name of the graph.
        clock: Seconds since the epoch.
        new_id: Gives unique ids.
        sleep: Waits that many seconds.

    Returns:
        A compiled LangGraph graph; `invoke`, `ainvoke`, `stream`, `get_state` and all
        else work as usual.

    Raises:
        ConfigError: The arguments do not fit together.
        ModelSetupError: The model cannot be opened.
        PersistError: The folder or database cannot be used.
    """
    given = {
        "model": model,
        "policies": policies,
        "interrupt_on": interrupt_on,
        "limits": limits,
        "persist": persist,
        "checkpointer": checkpointer,
        "store": store,
    }
    check_given(tools, assume, paths, given)
    registry = make_registry(tools, policies, assume)
    rules = authorisation(registry, authorise, interrupt_on or {})
    reasoner = _reasoner(model, fallback_models, clock, sleep)
    opened = _open(persist)
    held_store = opened.store if opened else store
    deps = Deps(
        registry=registry,
        limits=limits_of(limits),
        reasoner=reasoner,
        memory=memory or _memory(opened, clock),
        store=held_store or InMemoryStore(),
        clock=clock,
        new_id=new_id,
        sleep=sleep,
        authorise=rules,
        matrix=matrix,
        seeded=seeded,
        learn=learn,
        paths=paths,
        spawn=_spawn,
    )
    return _compiled(deps, opened, checkpointer, held_store, name)


def _compiled(
    deps: Deps,
    opened: Persist | None,
    checkpointer: BaseCheckpointSaver[Any] | None,
    store: BaseStore | None,
    name: str,
) -> MendGraph:
    saver = opened.checkpointer if opened else checkpointer
    compiled = plan_loop(deps).compile(checkpointer=saver, store=store, name=name)
    folder = opened.path if isinstance(opened, PersistFolder) else None
    lease = opened.lease if opened else choose_lease(store, folder)
    held = Held(deps=deps, lease=lease, opened=opened)
    graph = recast(MendGraph, compiled, held=held)
    return graph.with_config(max_concurrency=THREADS_AT_ONCE)


def _spawn(deps: Deps) -> Any:
    """Return the graph of a sub-task; it shares its parent's checkpoints."""
    return plan_loop(deps).compile(name="subtask")


def _reasoner(
    model: Model | None, fallbacks: Sequence[Model], clock: Any, sleep: Any
) -> Reasoner | None:
    opened = [open_model(each) for each in (model, *fallbacks) if each is not None]
    models = [each for each in opened if each is not None]
    return Reasoner(models, clock=clock, sleep=sleep) if models else None


def _open(persist: str | Path | None) -> Persist | None:
    if persist is None:
        return None
    address = str(persist)
    if address.startswith(DATABASES):
        return open_postgres(address)
    return open_folder(persist)


def _memory(opened: Persist | None, clock: Callable[[], float]) -> Memory:
    if isinstance(opened, PersistFolder):
        from mendgraph.tools.memory.chroma import ChromaMemory

        return ChromaMemory(opened.memory_path, clock=clock)
    from mendgraph.tools.memory.in_memory import InMemoryMemory

    return InMemoryMemory(clock=clock)


def authorisation(
    registry: Registry,
    rules: Sequence[AuthRule | Mapping[str, Any]],
    interrupt_on: InterruptOn,
) -> tuple[AuthRule, ...]:
    """Return the rules in force, those of `interrupt_on` last.

    Raises:
        ConfigError: A rule does not compile or names no tool.
    """
    given = tuple(_rule(registry, rule) for rule in rules)
    asked = tuple(
        _asking(registry, name, spec) for name, spec in interrupt_on.items() if spec
    )
    return (*given, *asked)


RULE_NAMES = frozenset({"args", "tool", "effect"})
"""Names the condition of an authorisation rule may use."""


def _rule(registry: Registry, rule: AuthRule | Mapping[str, Any]) -> AuthRule:
    """Return a rule that can be judged and is for some tool.

    A rule for a misspelt name would deny nothing, and nobody would see it.
    """
    if not isinstance(rule, AuthRule | Mapping):
        raise ConfigError(
            f"authorisation rule {rule!r}: give an AuthRule or its fields, such as "
            "{'tool': 'pay', 'decision': 'ask'}"
        )
    try:
        given = rule if isinstance(rule, AuthRule) else dict(rule)
        read = AuthRule.model_validate(given)
    except ValidationError as error:
        why = readable(error, AuthRule)
        raise ConfigError(f"authorisation rule {rule!r}: {why}") from error
    problems = list(rule_problems("when", read.when, RULE_NAMES))
    if problems:
        raise ConfigError(f"authorisation rule {rule!r}: {'; '.join(problems)}")
    pattern = set(read.tool) & set("*?[")
    if not pattern and read.tool != SUBTASK and read.tool not in registry:
        listed = ", ".join(registry.names) or "none"
        raise UnknownTool(f"{rule!r} is for no tool here; there are: {listed}")
    return read


def _asking(registry: Registry, name: str, spec: bool | Mapping[str, Any]) -> AuthRule:
    registry.get(name)
    if not isinstance(spec, bool | Mapping):
        raise ConfigError(
            f"interrupt_on[{name!r}] is {type(spec).__name__}; give True, False or a "
            "mapping such as {'allowed_decisions': ['approve', 'reject']}"
        )
    details = {} if isinstance(spec, bool) else dict(spec)
    allowed = tuple(details.get("allowed_decisions") or DECISIONS)
    unknown = [decision for decision in allowed if decision not in DECISIONS]
    if unknown:
        raise ConfigError(
            f"interrupt_on[{name!r}] allows {unknown}; known: {DECISIONS}"
        )
    description = details.get("description")
    reason = description if isinstance(description, str) else ""
    return AuthRule(tool=name, decision="ask", reason=reason, allowed=allowed)
