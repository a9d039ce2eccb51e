"""The simulated model as planner, replanner and joiner of the hand-written peers."""

import json
import re
from collections.abc import Callable

from mendgraph.bench.tasks import Wanted
from simulated.mind import Luck, Try, read, takes_sources, wanted_in
from simulated.talking import Talk

PLANNER = "come up with a simple step by step plan"
REPLANNER = "Update your plan accordingly"
COMPILER = "create a plan to solve it with the utmost parallelizability"
JOINER = "Solve a question answering task"
"""The sentences by which a prompt is known; they stand in the projects' own prompts."""

TOLD = re.compile(r"\b(s\d+) = ([\w.]+)")
UNDONE = re.compile(r"NOT DONE: (s\d+)[^(]*\((.*?)\)")
TASK = re.compile(
    r"^Thought: (s\d+)\n(\d+)\. (\w+)\((.*)\)\nObservation: (.*)$", re.MULTILINE
)
UNRESOLVED = "could not be resolved"


def plan_lines(text: str, luck: Luck) -> str:
    """Return the plan of plan-and-execute: a line a step, known values written out."""
    del luck
    return json.dumps({"plan": _remaining(text, {}, set())})


def _remaining(text: str, known: dict[str, str], lost: set[str]) -> list[str]:
    steps = [s for s in wanted_in(text)[1] if s.id not in known and s.id not in lost]
    return [_line(step, known) for step in steps]


def _line(step: Wanted, known: dict[str, str]) -> str:
    values = [known.get(need, need) for need in step.needs]
    given = json.dumps(values if takes_sources(step) else [])
    return f"- {step.id}: {step.tool} key={step.key} given {given}"


def plan_again(text: str, luck: Luck) -> str:
    """Return what is left to do, or the response when nothing is."""
    del luck
    past = text.partition("done the follow steps:")[2].partition(REPLANNER)[0]
    known, lost = dict(TOLD.findall(past)), dict(UNDONE.findall(past))
    known = {k: v for k, v in known.items() if k not in lost}
    task = text.partition("Your original plan")[0]
    left = _remaining(task, known, set(lost))
    told = ", ".join(f"{k} = {v}" for k, v in known.items())
    if lost:
        missing = [s.id for s in wanted_in(task)[1] if s.id not in known]
        return json.dumps(
            {"response": f"NOT DONE: {', '.join(missing)} are missing. {told}"}
        )
    return json.dumps({"plan": left} if left else {"response": f"DONE. {told}"})


def talk_of(text: str, luck: Luck) -> Talk:
    """Read a compiler's prompt: the task, and every task run so far."""
    talk = Talk(luck, *wanted_in(text))
    for step_id, _, tool, args, answer in TASK.findall(text):
        if step_id in talk.tries and UNRESOLVED not in answer:
            talk.tries[step_id].append(Try(tool, answer, read(args)))
    talk.settle()
    return talk


def compile_plan(text: str, luck: Luck) -> str:
    """Return numbered calls whose arguments refer to the answers of others."""
    talk = talk_of(text, luck)
    number = max((int(row[1]) for row in TASK.findall(text)), default=0)
    ready = {step.id: move for step, move in talk.calls()}
    numbers: dict[str, int] = {}
    lines = []
    for step in talk.steps:
        waits = all(n in talk.values or n in numbers for n in step.needs)
        if step.id not in ready and (step.id in talk.values or not waits):
            continue
        if step.id in talk.lost:
            continue
        number += 1
        numbers[step.id] = number
        if move := ready.get(step.id):
            tool, args = move.tool, dict(move.args or {})
        else:
            refer = [talk.values.get(n, f"${numbers.get(n)}.value") for n in step.needs]
            tool, args = step.tool, talk.mind.arguments(step, refer, 1)
            args |= {"after": refer} if not takes_sources(step) else {}
        lines.append(f"Thought: {step.id}\n{number}. {tool}({json.dumps(args)})")
    return "\n".join([*lines, f"{number + 1}. join()"])


def join(text: str, luck: Luck) -> str:
    """Return Finish with the report, or Replan where something can still be done."""
    talk = talk_of(text, luck)
    if talk.calls():
        return "Thought: something failed or is missing.\nAction: Replan(go on)"
    return f"Thought: nothing is left to do.\nAction: Finish({talk.report()})"


GRAPH_ROLES: dict[str, Callable[[str, Luck], str]] = {
    PLANNER: plan_lines,
    REPLANNER: plan_again,
    COMPILER: compile_plan,
    JOINER: join,
}
"""Sentence in the prompt → how it is answered."""
