"""The book of strategies: what worked for a failure, how well, and since when (F52).

Definitions, applications and counts are separate store items, so two processes can
write at once; states are computed from the applications both wrote.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from langgraph.store.base import BaseStore

from mendgraph.state.distil import Example, Recipe, distil
from mendgraph.state.lesson import Application, Reflection, Strategy, StrategyState
from mendgraph.state.strategy import (
    PLAIN,
    PROMOTE_AFTER,
    BoardRow,
    Window,
    board_row,
    may_distil,
    next_state,
)
from mendgraph.tools.evaluate import evaluate
from mendgraph.tools.seeds import seed_strategies
from mendgraph.tools.tallies import Tallies
from mendgraph.tools.uses import UseLog, every

STRATEGIES = ("mendgraph", "strategies")
MENDED = ("mendgraph", "mended")
REMEMBERED = 20
"""Newest fixes of one signature that are looked at for a recipe."""
USABLE = (StrategyState.ACTIVE, StrategyState.CANDIDATE)
"""States in which a strategy is proposed, the best first."""


class UnknownStrategyError(KeyError):
    """There is no strategy with this id."""


class StrategyBook:
    """Strategies in a store.

    Args:
        store: Where they are kept.
        clock: Seconds since the epoch.
        new_id: Returns a new id.
        window: How success is measured.
    """

    def __init__(
        self,
        store: BaseStore,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        window: Window = PLAIN,
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._window = window
        self._uses = UseLog(store, new_id)
        self._counts = Tallies(store, "strategies", new_id())

    async def seed(self) -> int:
        """Add the shipped strategies that are not there; return how many."""
        added = 0
        for strategy in seed_strategies(self._clock()):
            if await self._store.aget(STRATEGIES, strategy.id) is None:
                await self._put(strategy)
                added += 1
        return added

    async def all(self) -> list[Strategy]:
        """Return every strategy with its newest applications."""
        await self._counts.load()
        items = await every(self._store, STRATEGIES)
        return [await self._measured(item.value) for item in items]

    async def get(self, strategy_id: str) -> Strategy:
        """Return one strategy with its newest applications.

        Raises:
            UnknownStrategyError: There is none with this id.
        """
        item = await self._store.aget(STRATEGIES, strategy_id)
        if item is None:
            raise UnknownStrategyError(strategy_id)
        await self._counts.load()
        return await self._measured(item.value)

    async def for_signature(
        self, signature: str, tool_class: str | None = None
    ) -> list[Strategy]:
        """Return usable strategies: for the signature, then its tool class, then any.

        Active ones come before candidates at each of the three.
        """
        found: list[Strategy] = []
        for wanted in widened(signature, tool_class):
            items = await every(self._store, STRATEGIES, {"signature": wanted})
            held = [Strategy.model_validate(item.value) for item in items]
            usable = [strategy for strategy in held if strategy.state in USABLE]
            found += sorted(usable, key=lambda s: (USABLE.index(s.state), -s.version))
        return found

    async def record(self, strategy_id: str, use: Application) -> Strategy:
        """Record one application and move the strategy on where that is due.

        Raises:
            UnknownStrategyError: There is none with this id.
        """
        await self._uses.append(strategy_id, use)
        self._counts.add(f"{strategy_id}|total")
        self._counts.add(f"{strategy_id}|successes", use.outcome == "success")
        await self._counts.flush()
        strategy = await self.get(strategy_id)
        return await self._moved(strategy, next_state(strategy, self._window))

    async def learn_from(
        self,
        reflection: Reflection,
        patch: Mapping[str, Any] | None,
        resolved: bool,
        *,
        args_before: Mapping[str, Any] | None = None,
        error: str = "",
    ) -> Strategy | None:
        """Note a fix; the second that worked for one signature makes a Candidate.

        Args:
            reflection: What directed the fix.
            patch: Arguments it changed, masked.
            resolved: Whether the step then succeeded.
            args_before: Masked arguments of the failed call, so that the change can
                become an expression.
            error: Masked message of the failure.

        Returns:
            The new Candidate, or None.
        """
        if not resolved:
            return None
        before, change = dict(args_before or {}), dict(patch or {})
        kind = f"{reflection.decision}:{','.join(sorted(change))}"
        note = {
            "signature": reflection.signature,
            "kind": kind,
            "args_before": before,
            "args_after": {**before, **change},
            "error": error,
            "at": self._clock(),
        }
        await self._store.aput(MENDED, reflection.id, note, index=False)
        alike = await every(
            self._store, MENDED, {"signature": reflection.signature, "kind": kind}
        )
        if len(alike) < PROMOTE_AFTER:
            return None
        notes = sorted((item.value for item in alike), key=lambda n: n.get("at", 0.0))
        return await self._propose(reflection, kind, notes[-REMEMBERED:])

    async def due_for_tuning(self) -> list[Strategy]:
        """Return the strategies whose success has fallen under 60 %."""
        return [s for s in await self.all() if s.state is StrategyState.TUNING]

    async def ready_to_distil(self) -> list[Strategy]:
        """Return the Active strategies that have earned a rule template."""
        return [strategy for strategy in await self.all() if may_distil(strategy)]

    async def replace(self, old_id: str, tuned: Strategy) -> Strategy:
        """Retire a strategy for its tuned successor, which starts as a Candidate.

        Raises:
            UnknownStrategyError: There is no strategy to replace.
        """
        old = await self.get(old_id)
        successor = tuned.but(
            signature=old.signature,
            version=old.version + 1,
            replaces=old.id,
            state=StrategyState.CANDIDATE,
            applications=(),
            total=0,
            successes=0,
        )
        await self._put(successor)
        await self._moved(old, StrategyState.RETIRED)
        return successor

    async def board(self) -> list[BoardRow]:
        """Return the board's lines, the most used first."""
        rows = [board_row(s, self._window) for s in await self.all()]
        return sorted(rows, key=lambda row: (-row.uses, row.signature, row.id))

    async def _propose(
        self, reflection: Reflection, kind: str, notes: list[dict[str, Any]]
    ) -> Strategy | None:
        """Make a Candidate once; its id follows from its purpose and its patch."""
        recipe = explained([_example(note) for note in notes])
        patch = json.dumps(recipe.patch, sort_keys=True) if recipe else ""
        about = f"{reflection.signature}|{kind}|{patch}".encode()
        strategy_id = blake2b(about, digest_size=8).hexdigest()
        if await self._store.aget(STRATEGIES, strategy_id) is not None:
            return None
        words = (reflection.suggested_strategy, reflection.lesson)
        said = next((text for text in words if text), reflection.next_action)
        strategy = Strategy(
            id=strategy_id,
            signature=reflection.signature,
            content=said or (recipe.description if recipe else kind),
            action=reflection.decision,
            patch=recipe.patch if recipe else {},
            condition=recipe.condition if recipe else None,
            created_at=self._clock(),
            source="rehearsal" if reflection.source == "rehearsal" else "model",
        )
        await self._put(strategy)
        return strategy

    async def _moved(self, strategy: Strategy, state: StrategyState) -> Strategy:
        if state is strategy.state:
            return strategy
        moved = strategy.model_copy(update={"state": state})
        await self._put(moved)
        return moved

    async def _measured(self, value: Mapping[str, Any]) -> Strategy:
        strategy = Strategy.model_validate(value)
        counts = {
            name: int(self._counts.value(f"{strategy.id}|{name}"))
            for name in ("total", "successes")
        }
        uses = await self._uses.window(strategy.id)
        return strategy.model_copy(update={**counts, "applications": uses})

    async def _put(self, strategy: Strategy) -> None:
        bare = strategy.model_copy(
            update={"applications": (), "total": 0, "successes": 0}
        )
        await self._store.aput(STRATEGIES, strategy.id, bare.plain(), index=False)


def _example(note: Mapping[str, Any]) -> Example:
    return Example.model_validate({k: note[k] for k in Example.model_fields})


def explained(examples: Sequence[Example]) -> Recipe | None:
    """Return the recipe of all examples, else of the newest one and another.

    One signature covers several faults, and each has a recipe of its own.
    """
    *earlier, newest = examples
    pairs = ([other, newest] for other in reversed(earlier))
    recipes = (distil(group, evaluate) for group in (examples, *pairs))
    return next((recipe for recipe in recipes if recipe), None)


def widened(signature: str, tool_class: str | None) -> tuple[str, ...]:
    """Return the signature itself, that of the tool class, and that of any tool."""
    category, subclass, _ = (*signature.split(":", 2), "", "")[:3]
    fault = f"{category}:{subclass}"
    wider = (f"{fault}:{tool_class}" if tool_class else "", f"{fault}:*")
    return tuple(dict.fromkeys(part for part in (signature, *wider) if part))
