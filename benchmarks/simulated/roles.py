"""The simulated model in mendgraph's roles: it reads the prompt, it answers in JSON."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mendgraph.bench.tasks import AS_OF, Wanted
from simulated.mind import Luck, Mind, Move, Try, read, wanted_in

RULE = (
    "size(output.rows) == output.row_count && size(output.rows) > 0"
    f' && output.as_of == "{AS_OF}" && output.value != null'
)
LINE = re.compile(r"(s\d+): (\w+) key=([\w.]+)(?: from ([s\d, ]*s\d+))?")
PATCHED = re.compile(r"^step \S+: (.+)$", re.MULTILINE)
ATTEMPT = re.compile(r"^(\d+)\. (\w+) (\w+): (\w+)(.*)$", re.MULTILINE)
OPEN = re.compile(r"Decisions open now: (.+)$", re.MULTILINE)
USED = re.compile(r"Ids used before: (.+)$", re.MULTILINE)
DONE = re.compile(r"^(\w+) \[done\]", re.MULTILINE)
FIXES = frozenset({"patch", "fallback", "retry", "local_replan", "give_up"})
REFUSED = re.compile(r"^(?:Mend this in your last|tried before as)", re.MULTILINE)
"""What tells the model that it has decided this before, and wrongly."""
BEFORE = re.compile(r"^tried before as \S+ with (\w+):", re.MULTILINE)
TRIED = re.compile(r"^tried: (.+)$", re.MULTILINE)
SHUT = "whole service"


@dataclass(frozen=True)
class Shown:
    """A failed step as a prompt shows it."""

    step: Wanted
    tool: str
    args: dict[str, Any]
    error: str
    implicit: bool
    tries: tuple[Try, ...]
    spare: bool
    """The plan holds a fallback for it."""


def plan_answer(prompt: str, luck: Luck) -> dict[str, Any]:
    """Return a plan of the task in the prompt; steps already done are kept."""
    name, steps = wanted_in(prompt)
    mind = _newly(Mind(luck, name), prompt)
    used = USED.search(prompt)
    if used is None:
        return {"goal": name, "steps": [planned(mind, s, s.id, {}) for s in steps]}
    kept = set(DONE.findall(prompt))
    ids = {s.id: s.id if s.id in kept else _fresh(s.id, used.group(1)) for s in steps}
    new = [planned(mind, s, ids[s.id], ids, mirror=True) for s in steps]
    return {
        "goal": name,
        "keep": sorted(kept),
        "steps": [each for each in new if each["id"] not in kept],
    }


def _newly(mind: Mind, prompt: str) -> Mind:
    """Return the mind that decides anew once it reads that it was wrong before."""
    times = len(REFUSED.findall(prompt))
    return Mind(mind.luck, mind.task, f"{mind.role}:{times}") if times else mind


def planned(
    mind: Mind, step: Wanted, new_id: str, ids: dict[str, str], *, mirror: bool = False
) -> dict[str, Any]:
    """Return one step of a plan; the check is forgotten where the luck says so.

    A fallback is planned for fetches only, so that derivations show replanning.
    """
    needs = [ids.get(need, need) for need in step.needs]
    sources = [f"{{{{ {need}.value }}}}" for need in needs]
    read_ = step.tool in {"fetch", "derive"}
    told: dict[str, Any] = {
        "id": new_id,
        "description": step.line,
        "tool": f"{step.tool}_mirror" if mirror and read_ else step.tool,
        "inputs": mind.arguments(step, sources, 1),
        "dependencies": needs,
        "risk": "low",
    }
    if mind.overlooks(step, 1):
        return told
    if read_:
        spares = step.tool == "fetch" and not mirror
        spare = {"fallback": {"tool": "fetch_mirror"}} if spares else {}
        return {**told, "validation_rule": RULE, **spare}
    return {**told, "validation_rule": "output.found"} if _reads_back(step) else told


def _reads_back(step: Wanted) -> bool:
    return step.tool == "published"


def _fresh(step_id: str, used: str) -> str:
    number = 1
    while re.search(rf"\b{step_id}r{number}\b", used):
        number += 1
    return f"{step_id}r{number}"


def shown_in(prompt: str) -> Shown | None:
    """Return the failed step a prompt of patch, reflect or replan shows."""
    told = _step_json(prompt)
    named = PATCHED.search(prompt)
    found = LINE.search(str(told.get("description") or (named and named.group(1))))
    if found is None:
        return None
    needs = tuple(re.findall(r"s\d+", found.group(4) or ""))
    step = Wanted(found.group(1), found.group(2), found.group(3), needs)
    facts = _facts(prompt)
    args = _arguments(prompt)
    attempts = ATTEMPT.findall(prompt)
    before = _tried(prompt)
    error = f"{facts.get('message', '')} {facts.get('body', '')}"
    tool = attempts[-1][2] if attempts else step.tool
    tries = [Try(row[2], row[4], args) for row in attempts]
    tries = tries or [Try(each, error, args) for each in before or [tool]]
    tries[-1] = Try(tool, error, args)
    implicit = bool(facts.get("problems")) or '"error"' in str(facts.get("body", ""))
    spare = '"fallback":' in prompt
    return Shown(step, tool, args, error, implicit, tuple(tries), spare)


def _tried(prompt: str) -> list[str]:
    """Return the tools of earlier calls a replan prompt tells of, the oldest first."""
    earlier = BEFORE.findall(prompt)
    found = TRIED.search(prompt)
    now = [part.split(",")[0].strip() for part in found[1].split(";")] if found else []
    return [*earlier, *now]


def _facts(prompt: str) -> dict[str, Any]:
    start = prompt.find('{"message":')
    told = read(prompt[start:]) if start >= 0 else {}
    return told if isinstance(told, dict) else {}


def _arguments(prompt: str) -> dict[str, Any]:
    for label in ("arguments: ", '"inputs":'):
        start = prompt.find(label)
        told = read(prompt[start:]) if start >= 0 else None
        if isinstance(told, dict):
            return told
    return {}


def move_of(mind: Mind, shown: Shown) -> Move:
    """Return what the model would do about a failed step."""
    sources = shown.args.get("sources") or []
    if shown.implicit and shown.step.tool != "published":
        return mind.again(shown.step, sources, shown.tries, shown.error, fresh=True)
    if shown.implicit:
        return Move("call", tool="publish", why="reading back found nothing")
    return mind.after_error(shown.step, sources, shown.tries, shown.error)


def changes_of(shown: Shown, move: Move) -> dict[str, Any]:
    """Return the arguments that a move changes."""
    given = move.args or {}
    return {k: v for k, v in given.items() if k != "sources" and shown.args.get(k) != v}


def patch_answer(prompt: str, luck: Luck) -> dict[str, Any]:
    """Return other arguments, or none where they cannot help."""
    shown = shown_in(prompt)
    if shown is None:
        return {"arguments": {}, "why": "no step is shown"}
    move = move_of(_mind(luck, shown), shown)
    if move.kind != "call" or move.tool != shown.tool:
        return {"arguments": {}, "why": move.why or "other arguments cannot help"}
    return {"arguments": changes_of(shown, move), "why": move.why, "confidence": 0.8}


def _mind(luck: Luck, shown: Shown, role: str = "") -> Mind:
    return Mind(luck, shown.step.key.rpartition(".")[0], role)


def reflect_answer(prompt: str, luck: Luck) -> dict[str, Any]:
    """Return the look at a failure and the fix it directs."""
    shown = shown_in(prompt)
    told = {"observed_issue": "unknown", "decision": "give_up", "hypotheses": []}
    if shown is None:
        return told
    move = move_of(_mind(luck, shown, ":reflect"), shown)
    decision = _decision(shown, move)
    open_now = OPEN.search(prompt)
    allowed = {w.strip() for w in open_now.group(1).split(",")} if open_now else FIXES
    return {
        "observed_issue": shown.error[:200],
        "hypotheses": [shown.error[:120]],
        "decision": decision if decision in allowed else "local_replan",
        "patch": changes_of(shown, move) if decision == "patch" else None,
        "lesson": "",
        "confidence": 0.8,
    }


def _decision(shown: Shown, move: Move) -> str:
    if SHUT in shown.error:
        return "global_replan"
    if move.kind != "call":
        return "give_up"
    if move.tool.endswith("_mirror") and move.tool != shown.tool:
        return "fallback" if shown.spare else "local_replan"
    if move.tool != shown.tool:
        return "local_replan"
    return "patch" if changes_of(shown, move) else "retry"


def replan_answer(prompt: str, luck: Luck) -> dict[str, Any]:
    """Return the patch of the plan: the failed step done another way."""
    shown = shown_in(prompt)
    if shown is None:
        return {"impossible": "no failed step is shown"}
    mind = _newly(_mind(luck, shown, ":replan"), prompt)
    move = move_of(mind, shown)
    if move.kind != "call":
        return {"impossible": move.why or "nothing is left to try"}
    used = USED.search(prompt)
    new_id = _fresh(shown.step.id, used.group(1) if used else "")
    failed = _step_json(prompt)
    replaced = str(failed.get("id", shown.step.id))
    if move.tool == "publish" and shown.step.tool == "published":
        return _publish_again(shown, replaced, new_id, failed, prompt)
    step = planned(mind, shown.step, new_id, {})
    inputs = {**(failed.get("inputs") or {}), **changes_of(shown, move)}
    kept = {"tool": move.tool, "inputs": inputs, "replaces": replaced}
    kept["dependencies"] = failed.get("dependencies") or []
    return {"replace": [{**step, **kept}], "why": shown.error[:120]}


def _step_json(prompt: str) -> dict[str, Any]:
    start = prompt.find('{"id":')
    told = read(prompt[start:]) if start >= 0 else {}
    return told if isinstance(told, dict) else {}


def _publish_again(
    shown: Shown, replaced: str, new_id: str, failed: dict[str, Any], prompt: str
) -> dict[str, Any]:
    """Put another publication before another reading back."""
    needs = failed.get("dependencies") or list(shown.step.needs)
    source = re.search(r"publish\(.*?(\"sources\":\[[^\]]*\])", prompt)
    sources = json.loads(f"{{{source.group(1)}}}")["sources"] if source else []
    again = f"{new_id}p"
    publish = {
        "id": again,
        "description": f"publish {shown.step.key} again",
        "tool": "publish",
        "inputs": {"key": shown.step.key, "sources": sources},
        "dependencies": needs,
        "risk": "low",
    }
    look = {
        "id": new_id,
        "replaces": replaced,
        "description": shown.step.line,
        "tool": "published",
        "inputs": {"key": shown.step.key},
        "dependencies": [again],
        "validation_rule": "output.found",
        "risk": "low",
    }
    return {"replace": [look], "add": [publish], "why": "it was not published"}


def critique_answer(prompt: str, luck: Luck) -> dict[str, Any]:
    """Return a good score: what is judged is made by the same model."""
    del prompt, luck
    return {"score": 0.9, "issues": []}


def score_answer(prompt: str, luck: Luck) -> dict[str, Any]:
    """Return the same score for every candidate."""
    del luck
    count = max(1, len(re.findall(r'label="candidate \d+"', prompt)))
    one = {"feasibility": 0.8, "robustness": 0.8, "efficiency": 0.8, "fit": 0.8}
    return {"candidates": [{"index": i, **one} for i in range(count)]}


def signal_answer(prompt: str, luck: Luck) -> dict[str, Any]:
    """Return that a message is unclear; none is sent in these runs."""
    del prompt, luck
    return {"kind": "unclear", "question": "what is meant?"}


ROLES: dict[str, Callable[[str, Luck], dict[str, Any]]] = {
    "plan": plan_answer,
    "patch": patch_answer,
    "reflect": reflect_answer,
    "replan": replan_answer,
    "critique": critique_answer,
    "score": score_answer,
    "signal": signal_answer,
}
"""Role named in the system prompt → how it is answered."""
