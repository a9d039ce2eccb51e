"""What a node may use: the dependencies bound at build time, seen for one run.

`Deps` is made once by the factory. `Run` is opened for every node call and carries the
thread's vault, the round's board and a meter whose total becomes the node's `spent`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from mendgraph.state.correction import MATRIX, Row
from mendgraph.state.events import Event, EventKind
from mendgraph.state.limits import Exhausted, Limits, Spent
from mendgraph.state.masking import mask
from mendgraph.state.policy import AuthRule
from mendgraph.tools.board import Board, Boards, Outcome
from mendgraph.tools.library import Library
from mendgraph.tools.memory.protocol import Memory
from mendgraph.tools.models.reasoner import Reasoner
from mendgraph.tools.registry import Registry
from mendgraph.tools.vault import Vault


@dataclass(frozen=True)
class Deps:
    """Everything a graph was built with."""

    registry: Registry
    limits: Limits
    reasoner: Reasoner | None
    memory: Memory | None
    store: BaseStore
    """Used where the run brings no store of its own."""
    clock: Callable[[], float]
    new_id: Callable[[], str]
    sleep: Callable[[float], Awaitable[None]]
    authorise: tuple[AuthRule, ...] = ()
    matrix: tuple[Row, ...] = MATRIX
    seeded: bool = True
    """Begin with the shipped strategies and rules."""
    learn: bool = True
    """Reflections, strategies and statistics are kept for later tasks."""
    paths: int = 3
    """Candidate plans for risky tasks (F05)."""
    depth: int = 0
    """How deep this graph is nested as a sub-task."""
    task_id: str | None = None
    """Of a sub-task: bound to its step, so another try knows its effects."""
    spawn: Callable[["Deps"], Any] | None = None
    """Compiles the graph of a sub-task."""
    boards: Boards = field(default_factory=Boards)
    libraries: dict[int, Library] = field(default_factory=dict)
    reasoners: dict[str, Reasoner] = field(default_factory=dict)
    """Models that runs asked for by name, opened once."""

    def library(self, store: BaseStore) -> Library:
        """Return the books kept in a store, made once for each store."""
        if id(store) not in self.libraries:
            self.libraries[id(store)] = Library(
                store,
                clock=self.clock,
                new_id=self.new_id,
                sleep=self.sleep,
                seeded=self.seeded,
            )
        return self.libraries[id(store)]


@dataclass
class Run:
    """One node call's view of the world."""

    deps: Deps
    thread_id: str
    task_id: str
    vault: Vault
    library: Library
    board: Board
    config: RunnableConfig
    write: Callable[[Any], None]
    can_ask: bool
    meter: Spent = field(default_factory=Spent)
    waited: bool = False
    """The wait before this attempt is over."""

    @property
    def limits(self) -> Limits:
        """The task's allowances."""
        return self.deps.limits

    @property
    def ledger_id(self) -> str:
        """What effects are recorded under: a new task on a thread may repeat them."""
        return f"{self.thread_id}:{self.task_id}"

    def now(self) -> float:
        """Seconds since the epoch."""
        return self.deps.clock()

    def reserve(self, *meters: str) -> Exhausted | None:
        """Return the cap that leaves no room for one unit more."""
        return self.board.reserve(*meters)

    def spend(self, **units: float) -> None:
        """Count units on the live board and in this node's update."""
        self.charge(Spent.model_validate(units))

    def charge(self, delta: Spent) -> None:
        """Count a delta on the live board and in this node's update."""
        self.board.charge(delta)
        self.meter = self.meter.plus(delta)

    def emit(
        self,
        kind: EventKind,
        text: str,
        *,
        step_id: str | None = None,
        attempt: int = 1,
        **data: Any,
    ) -> None:
        """Send a progress event to whoever streams `custom`."""
        name = ":".join(
            (self.task_id, kind.value, step_id or "-", str(attempt), text[:40])
        )
        event = Event(
            event=kind,
            id=name,
            at=self.now(),
            task_id=self.task_id,
            step_id=step_id,
            attempt=attempt,
            text=mask(text),
            data=data,
        )
        self.write(event.plain())

    async def output(self, reference: str) -> Any:
        """Return a raw output, from memory or from the store."""
        held, value = self.board.recall(reference)
        if held:
            return value
        value = await self.vault.get_output(reference)
        self.board.remember(reference, value)
        return value

    async def keep_output(self, reference: str, value: Any) -> str:
        """Keep a raw output; return its reference."""
        await self.vault.put_output(reference, value)
        self.board.remember(reference, value)
        return reference


async def open_board(
    deps: Deps, vault: Vault, round_token: str, base: Mapping[str, Any]
) -> Board:
    """Return the board of a round, rebuilt from the stored outcomes if need be."""
    found = deps.boards.find(round_token)
    if found:
        return found
    stored = await vault.outcomes(round_token) if round_token else {}
    spent = Spent.model_validate(dict(base))
    for outcome in stored.values():
        spent = spent.plus(Spent.model_validate(outcome["spent"]))
    outcomes = {
        step_id: Outcome(
            status=outcome["record"]["status"],
            output_ref=outcome["record"]["output_ref"],
        )
        for step_id, outcome in stored.items()
    }
    asides = await vault.asides(round_token) if deps.limits.depth else {}
    open_slices = {
        step_id: Spent.model_validate(slice_)
        for step_id, slice_ in asides.items()
        if step_id not in outcomes
    }
    begun = Spent(executions=len(open_slices))
    board = Board(deps.limits, spent.plus(begun), outcomes, deps.clock, open_slices)
    return deps.boards.keep(round_token, board)
