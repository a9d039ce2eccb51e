"""Faults of a plan as its validator, a planner or a reviewer words them."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mendgraph.nodes.classify.rule import (
    COARSE,
    GAP,
    MISORDERED,
    UNMET,
    Predicate,
    Rule,
    Seen,
    every,
    says,
    some,
)
from mendgraph.state.failure import Layer

_PLAN = says(
    r"\bplan(?:ner|s|ned)?\b|pipeline|workflow|\bgraph\b|migration|\bdeploy\w*"
    r"|\bjobs?\b|\bnodes?\b|stages?\b|precondition|prerequisite|\bsteps?\b|\bdag\b"
    r"|\bs\d{1,3}\b|depend|\bedges?\b|\btasks?\b"
    r"|计划|步骤|依赖"
)
_STEP_KEYS = (
    "depends_on",
    "dependencies",
    "tool",
    "agent",
    "action",
    "inputs",
    "after",
)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects that stand in the text, those of a `steps` list too."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError:
            end, found = at + 1, None
        if isinstance(found, Mapping):
            inner = found.get("steps")
            steps = inner if isinstance(inner, list) else [found]
            yield from (step for step in steps if isinstance(step, Mapping))
        at = text.find("{", end)


def _step_id(step: Mapping[str, Any]) -> str | None:
    name = step.get("id", step.get("step_id"))
    return None if name is None else str(name)


def _needs(step: Mapping[str, Any]) -> list[str]:
    needs = step.get("depends_on", step.get("dependencies"))
    if isinstance(needs, str):
        return [needs]
    return [str(need) for need in needs] if isinstance(needs, list) else []


def plan_graph(text: str) -> dict[str, list[str]]:
    """Return step ids with what they depend on, for the steps written in the text."""
    steps = [s for s in _objects(text) if any(key in s for key in _STEP_KEYS)]
    named = [(_step_id(step), _needs(step)) for step in steps]
    return {name: needs for name, needs in named if name is not None}


def _has_cycle(graph: Mapping[str, list[str]]) -> bool:
    left = {name: {n for n in needs if n in graph} for name, needs in graph.items()}
    while left:
        free = {name for name, needs in left.items() if not needs & left.keys()}
        if not free:
            return True
        left = {name: needs for name, needs in left.items() if name not in free}
    return False


def _cyclic(seen: Seen) -> bool:
    return (
        "{" in seen.text and _may_be_a_plan(seen) and _has_cycle(plan_graph(seen.text))
    )


def _is_plan_object(seen: Seen) -> bool:
    return "{" in seen.text and _may_be_a_plan(seen) and bool(plan_graph(seen.text))


_VERBS = (
    r"\b(?:build|implement|write|create|test|deploy|design|collect|fetch|download|clean"
    r"|analy[sz]e|train|evaluate|migrate|configure|install|set up|review|publish|send"
    r"|document|monitor|load|transform|export|report|query|extract|compute|plot"
    r"|generate|merge|validate|refactor|release|summari[sz]e|upload|parse|process|save"
    r"|filter|aggregate|visuali[sz]e|translate|verify|backup|notify)\b"
)


def _many_actions_in_one(seen: Seen) -> bool:
    """Tell whether one step's text asks for four or more different actions."""
    text = seen.facts.message.lower() if _may_be_a_plan(seen) else ""
    one = re.search(
        r"\b(?:one|single|a|1) step\b|^\W*step \d+\s*[:.]|\"description\"", text
    )
    count = len(re.findall(r"\bstep \d+", text))
    return bool(one) and count <= 1 and len(set(re.findall(_VERBS, text))) >= 4  # noqa: PLR2004


_USE = re.compile(
    r"\b(?:step|s|task)[ -]?(\d+)\b(?:(?!\bstep\b).){0,60}?(?:reads?|uses?|needs?"
    r"|consumes?"
    r"|requires?|takes?|depends|waits?|expects?).{0,60}?\b(?:step|s|task)[ -]?(\d+)\b",
    re.IGNORECASE | re.DOTALL,
)


def _needs_a_later_step(seen: Seen) -> bool:
    """Tell whether a numbered step uses what a step of a higher number makes."""
    skips = "{" in seen.text or not _may_be_a_plan(seen)
    pairs = () if skips else _USE.findall(seen.text)
    return any(int(one) < int(other) for one, other in pairs)


_ABOUT_PLANS = re.compile(r"Plan|Cycle|Dag|Step|Graph")


def _may_be_a_plan(seen: Seen) -> bool:
    """Tell whether the text can be about a plan, and is no failure of one tool."""
    facts = seen.facts
    if facts.layer is Layer.PLAN:
        return True
    names = " ".join(facts.exceptions)
    by_name = not names or _ABOUT_PLANS.search(names) is not None
    return by_name and facts.tool is None and facts.layer is not Layer.MONITOR


def _planned(words: str) -> Predicate:
    return every(_may_be_a_plan, _PLAN, says(words))


RULES: tuple[Rule, ...] = (
    Rule(
        "the steps wait for each other in a circle",
        some(
            _planned(
                r"\bcycl(?:e|es|ic|ical)\b|circular|depends on itself|self[- ]?"
                r"(?:dependen|loop|reference)|deadlock|循环|环"
            ),
            _cyclic,
        ),
        MISORDERED,
    ),
    Rule(
        "an id stands for two steps",
        _planned(
            r"(?:duplicate|repeated|same|reus\w+|colli\w+).{0,30}\b(?:step )?ids?\b"
            r"|\bids?\b.{0,30}(?:duplicate|reused|repeated|not unique|twice|collide)"
            r"|uses \w+ for a different|same id|重复"
        ),
        MISORDERED,
        0.85,
    ),
    Rule(
        "a step or a dependency is missing",
        some(
            _planned(
                r"(?:unknown|missing|undefined|dangling|non-?existent|unresolved"
                r"|invalid) "
                r"(?:step|dependenc|task|node|edge|agent|reference|parent)"
                r"|(?:depends? on|refers? to|references?).{0,40}(?:unknown|missing|not "
                r"(?:exist|defin|found|in)|does not|no such|nonexist)"
                r"|\b(?:no|without an?y?) (?:\w+ )?(?:steps?|s\d+)\b"
                r"|dependenc\w+ \S+ (?:is |was )?(?:not found"
                r"|missing|unknown|undefined)|(?:never|nothing) (?:\w+ ){0,3}(?:create"
                r"|produce|install"
                r"|fetch|generate|load|build|download|migrat|seed)|(?:step|plan).{0,40}"
                r"(?:forg[eo]t|omit|skip|leaves? out|lacks?|missing|is absent)"
                r"|forgot|omitted|without (?:a|any) step|empty plan|plan is empty"
                r"|缺少|缺失|遗漏|不存在"
            ),
        ),
        GAP,
        0.8,
    ),
    Rule(
        "a step comes before what it needs",
        some(
            _needs_a_later_step,
            _planned(
                r"(?:runs?|is listed|executed?|scheduled|comes?|placed|starts?|started"
                r"|happens?"
                r"|used?|read"
                r"|sent|deploy\w*|called|invoked|consumes?) .{0,60}\bbefore\b"
                r"|\bbefore\b.{0,60}(?:finish|complete|ready|creat|produc|exist"
                r"|available|runs?"
                r"|done|written|built|install)|out of order|wrong order|order(?:ing)? "
                r"(?:error|violation|is wrong)|too early|not (?:an? )?(?:ancestor"
                r"|upstream)"
                r"|(?:output|result)s? of (?:a )?(?:later|future|step)|later step"
                r"|forward (?:dep"
                r"|ref)|in parallel.{0,60}(?:depend|need|same|both|conflict|although)"
                r"|race"
                r"|\bafter\b.{0,40}(?:needs?|uses?|requires?|depends)|顺序|先于|之前"
            ),
        ),
        MISORDERED,
        0.8,
    ),
    Rule("a step written out is not valid", _is_plan_object, GAP, 0.7),
    Rule(
        "a step does too much at once",
        some(
            _planned(
                r"too (?:coarse|broad|big|large|vague|general|high[- ]level)|(?:whole"
                r"|entire"
                r"|everything|all of it|full) .{0,40}(?:in|as|by) (?:one|a single) step"
                r"|(?:one|single) (?:\w+ )?step.{0,40}(?:whole|entire|everything|all"
                r"|do the)"
                r"|\bdo everything\b|step\b.{0,20}(?:build|implement|create|develop"
                r"|write|do|handle|set up|migrate|rewrite) (?:the |an? )?(?:entire"
                r"|complete"
                r"|whole|full|all)\b|(?:touches|changes|covers|spans|uses|needs"
                r"|with) (?:\d{2,}|dozens|many) (?:of )?(?:files|tools|actions|modules"
                r"|calls|things)|several (?:actions|goals|tools) in (?:one|a single)"
                r"|(?:must|should|needs? to) be (?:split|broken|decomposed)|not atomic"
                r"|monolithic|粒度|太粗"
            ),
            _many_actions_in_one,
        ),
        COARSE,
        0.8,
    ),
    Rule(
        "what a step takes for granted does not hold",
        _planned(
            r"without (?:first )?(?:check|verif|confirm|validat|mak)\w*"
            r"|needs .{0,60}\bbut\b|precondition|prerequisite|assum(?:es|ed|ing|ption)"
            r"|takes? for granted"
            r"|(?:is|are|was|were) not (?:yet )?(?:available|installed|running|present"
            r"|ready"
            r"|logged|met|satisfied|set)|requires? .{0,60}\bbut\b|not (?:yet )?exist"
            r"|\bbut\b.{0,60}(?:has no|lacks|is missing|does not|doesn't|is not|isn't)"
            r"|unknown tool|tool .{0,40}(?:not|unknown)|no such tool|前置条件|前提"
        ),
        UNMET,
        0.75,
    ),
)
