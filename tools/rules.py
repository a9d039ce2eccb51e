"""The book of distilled rules: mend a call's arguments without a model (F23, F54).

A rule is data: CEL over `tool`, `args`, `error` and `output`. It can give new values
for arguments of the call, and nothing else.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from langgraph.store.base import BaseStore

from mendgraph.state.distil import Example, Recipe, distil
from mendgraph.state.lesson import (
    Application,
    MendRule,
    NextAction,
    RuleStage,
    Strategy,
)
from mendgraph.state.strategy import next_stage
from mendgraph.tools.cel import RuleError, compile_rule
from mendgraph.tools.cel_functions import FUNCTIONS
from mendgraph.tools.evaluate import evaluate, holds
from mendgraph.tools.seeds import seed_rules
from mendgraph.tools.strategies import widened
from mendgraph.tools.tallies import Tallies
from mendgraph.tools.uses import UseLog, every

RULES = ("mendgraph", "rules")
STAGE_ORDER = (RuleStage.BUILT_IN, RuleStage.TEMPLATE)
EARLY_NAMES = frozenset({"tool", "args"})
"""What a rule may look at to be judged before a call."""
COUNTED = ("hits", "successes", "misjudgements")


class RuleBook:
    """Rules in a store, indexed in memory by signature.

    Args:
        store: Where they are kept.
        clock: Seconds since the epoch.
        new_id: Returns a new id.
    """

    def __init__(
        self,
        store: BaseStore,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._uses = UseLog(store, new_id)
        self._counts = Tallies(store, "rules", new_id())
        self._rules: dict[str, MendRule] = {}
        self._index: dict[str, tuple[MendRule, ...]] = {}
        self._early: dict[str, tuple[MendRule, ...]] | None = None
        """By tool, made when first asked for after a change."""

    async def load(self) -> None:
        """Read the rules from the store; call it when a task begins."""
        await self._counts.load()
        items = await every(self._store, RULES)
        held = (MendRule.model_validate(item.value) for item in items)
        self._rules = {rule.id: self._counted(rule) for rule in held}
        self._reindex()

    async def seed(self) -> int:
        """Add the shipped rules that are not there; return how many."""
        added = 0
        for rule in seed_rules(self._clock()):
            if await self._store.aget(RULES, rule.id) is None:
                await self.add(rule)
                added += 1
        return added

    async def add(self, rule: MendRule) -> None:
        """Add or replace a rule.

        Raises:
            RuleError: Its condition or patch does not compile.
        """
        for source in (rule.condition, *rule.patch.values()):
            compile_rule(source)
        await self._put(rule)

    def all(self) -> list[MendRule]:
        """Return every loaded rule, retired ones too."""
        return list(self._rules.values())

    def get(self, rule_id: str) -> MendRule | None:
        """Return one loaded rule."""
        return self._rules.get(rule_id)

    def lookup(self, signature: str, tool_class: str | None = None) -> list[MendRule]:
        """Return the rules for a signature: its own, its tool class's, any tool's.

        Built-in ones come first at each of the three, then the surest.
        """
        found: list[MendRule] = []
        for key in widened(signature, tool_class):
            found.extend(self._index.get(key, ()))
        return found

    def early(self, tool: str, tool_class: str | None = None) -> list[MendRule]:
        """Return the rules that can be judged before the call: on its arguments alone.

        Those of the tool come first, then those of its class, then those of any tool.
        """
        if self._early is None:
            self._early = _by_tool(self._index)
        owners = dict.fromkeys((tool, tool_class or tool, "*"))
        return [rule for owner in owners for rule in self._early.get(owner, ())]

    def apply(
        self,
        rule: MendRule,
        variables: Mapping[str, Any],
        protected: Collection[str] = (),
    ) -> dict[str, Any] | None:
        """Return the arguments as the rule mends them, or None when it does not fit.

        Args:
            rule: The rule.
            variables: `tool`, `args`, `error` (a map with `message`) and `output`.
            protected: Arguments no rule may touch, such as idempotency keys.
        """
        before = dict(variables.get("args") or {})
        if rule.action is not NextAction.PATCH or set(rule.patch) & set(protected):
            return None
        try:
            if not holds(rule.condition, variables):
                return None
            changed = {k: evaluate(cel, variables) for k, cel in rule.patch.items()}
        except RuleError:
            return None
        merged = {**before, **changed}
        after = {k: v for k, v in merged.items() if v is not None or k not in changed}
        return after if after != before else None

    def first_fix(
        self,
        signature: str,
        tool_class: str | None,
        variables: Mapping[str, Any],
        protected: Collection[str] = (),
    ) -> tuple[MendRule, dict[str, Any]] | None:
        """Return the first rule that fits with the arguments it gives, or None."""
        for rule in self.lookup(signature, tool_class):
            if (mended := self.apply(rule, variables, protected)) is not None:
                return rule, mended
        return None

    async def record(
        self, rule_id: str, helped: bool, clean: bool = False, task_id: str = ""
    ) -> MendRule | None:
        """Record a use of a rule and move it on the ladder where that is due.

        Args:
            rule_id: The rule.
            helped: Whether the mended call succeeded.
            clean: Whether nothing had been wrong; firing then is a misjudgement.
            task_id: The task it was used in.
        """
        rule = self._rules.get(rule_id)
        if rule is None:
            return None
        good = helped and not clean
        outcome: Any = "success" if good else "failure"
        use = Application(
            task_id=task_id, step_id="", outcome=outcome, at=self._clock()
        )
        await self._uses.append(rule_id, use)
        for name, amount in zip(COUNTED, (1, good, not good), strict=True):
            self._counts.add(f"{rule_id}|{name}", amount)
        await self._counts.flush()
        window = await self._uses.window(rule_id)
        stage = next_stage(rule, [item.outcome == "success" for item in window])
        counted = self._counted(rule).model_copy(update={"stage": stage})
        if stage is not rule.stage:
            await self._put(counted)
        self._keep(counted)
        return counted

    async def distil(self, strategy: Strategy) -> MendRule | None:
        """Make a rule template of a strategy whose fixes one expression explains.

        A strategy makes one rule; None when there is one or none can be made.
        """
        if any(rule.strategy_id == strategy.id for rule in self._rules.values()):
            return None
        recipe = distil(examples_of(strategy), evaluate) or _own_recipe(strategy)
        if recipe is None:
            return None
        rule = MendRule(
            id=f"rule-{strategy.id}",
            signature=strategy.signature,
            condition=recipe.condition,
            patch=recipe.patch,
            confidence=strategy.successes / max(strategy.total, 1),
            strategy_id=strategy.id,
            description=recipe.description,
            created_at=self._clock(),
        )
        await self.add(rule)
        return rule

    def _counted(self, rule: MendRule) -> MendRule:
        counts = {n: int(self._counts.value(f"{rule.id}|{n}")) for n in COUNTED}
        return rule.model_copy(update=counts)

    async def _put(self, rule: MendRule) -> None:
        await self._store.aput(RULES, rule.id, rule.plain(), index=False)
        before = self._rules.get(rule.id)
        self._keep(rule)
        if before is not None and before.signature != rule.signature:
            self._reindex()

    def _reindex(self) -> None:
        groups: dict[str, list[MendRule]] = defaultdict(list)
        for rule in self._rules.values():
            groups[rule.signature].append(rule)
        self._index = {key: _usable(group) for key, group in groups.items()}
        self._early = None

    def _keep(self, rule: MendRule) -> None:
        """Put one rule into the index."""
        self._rules[rule.id] = rule
        group = (*self._index.get(rule.signature, ()), rule)
        self._index[rule.signature] = _usable(
            {item.id: item for item in group}.values()
        )
        self._early = None


def examples_of(strategy: Strategy) -> list[Example]:
    """Return the changes of arguments that helped, as far as they were recorded."""
    return [
        Example(
            args_before=use.args_before,
            args_after=use.args_after,
            error=use.error or "",
        )
        for use in strategy.applications
        if use.outcome == "success" and use.args_before and use.args_after
    ]


def _own_recipe(strategy: Strategy) -> Recipe | None:
    """Return the patch the strategy itself carried through its successes."""
    if not strategy.patch:
        return None
    return Recipe(
        condition=strategy.condition or "true",
        patch=strategy.patch,
        description=strategy.content,
    )


def _usable(rules: Iterable[MendRule]) -> tuple[MendRule, ...]:
    return tuple(sorted((r for r in rules if r.stage in STAGE_ORDER), key=_order))


def _order(rule: MendRule) -> tuple[int, float, str]:
    return STAGE_ORDER.index(rule.stage), -rule.confidence, rule.id


def _by_tool(
    index: Mapping[str, tuple[MendRule, ...]],
) -> dict[str, tuple[MendRule, ...]]:
    groups: dict[str, list[MendRule]] = defaultdict(list)
    for signature, rules in index.items():
        groups[signature.split(":", 2)[-1]] += [r for r in rules if is_early(r)]
    return {owner: tuple(sorted(rules, key=_order)) for owner, rules in groups.items()}


def is_early(rule: MendRule) -> bool:
    """Tell whether a rule's condition and patch look at the call's arguments only."""
    return _reads_arguments_only(rule.condition, tuple(rule.patch.values()))


@lru_cache(maxsize=8_192)
def _reads_arguments_only(condition: str, patch: tuple[str, ...]) -> bool:
    judged = compile_rule(condition).names()
    named = judged.union(*(compile_rule(source).names() for source in patch))
    return "args" in judged and named <= EARLY_NAMES | FUNCTIONS.keys()
