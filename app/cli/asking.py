"""Asking at the terminal: one question after another, each answered by its id."""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from mendgraph.cli.driving import Answer, Ask
from mendgraph.progress import clean
from mendgraph.report.words import moment
from mendgraph.state.interrupts import ALLOWED, Kind, Question

Read = Callable[[str], str]
LATER = "later"
STOP = "/stop"

LETTERS: dict[str, str] = {
    "a": "approve",
    "e": "edit",
    "r": "reject",
    "s": "respond",
    "l": LATER,
}
WORDS: dict[Kind, dict[str, str]] = {
    Kind.APPROVAL: {
        "approve": "[a]pprove",
        "edit": "[e]dit",
        "reject": "[r]eject",
        "respond": "re[s]pond",
    },
    Kind.WAITING: {"approve": "[a]: look again", "reject": "[r]: stop the task"},
    Kind.MODEL_UNAVAILABLE: {
        "approve": "[a]: try again",
        "reject": "[r]: go on without it",
    },
}
"""How each decision is offered."""
TITLES: dict[Kind, str] = {
    Kind.APPROVAL: "Approval needed",
    Kind.CLARIFICATION: "A question",
    Kind.WAITING: "Still waiting",
    Kind.MODEL_UNAVAILABLE: "No model answers",
}


def someone_is_there() -> bool:
    """Tell whether a person can be asked here."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def at_terminal(console: Console, read: Read = input) -> Ask:
    """Return a way to ask that shows questions on a console.

    Args:
        console: Where questions are shown.
        read: Shows a prompt and returns the line that was typed.
    """
    with suppress(ImportError):
        import readline  # noqa: F401 (importing it makes typed lines editable)

    def ask(questions: Mapping[str, Question]) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        for number, (key, question) in enumerate(questions.items(), 1):
            count = f" ({number} of {len(questions)})" if len(questions) > 1 else ""
            console.print(_shown(question, count))
            decision = _decision(question, console, read)
            if decision is not None:
                answers[key] = {"decisions": [decision]}
        return answers

    return ask


def _shown(question: Question, count: str) -> Panel:
    """Return the question with its masked arguments; all text is untrusted."""
    words = Text("\n".join(map(clean, question.description.splitlines())))
    if question.args:
        pretty = json.dumps(question.args, ensure_ascii=False, indent=2)
        words += Text("\n" + "\n".join(map(_indented, pretty.splitlines())))
    if question.expires_at is not None:
        words += Text(f"\nThis question expires at {moment(question.expires_at)}.")
    step = f", step {clean(question.step_id)}" if question.step_id else ""
    name = f": {clean(question.name)}" if question.kind is Kind.APPROVAL else ""
    title = Text(f"{TITLES[question.kind]}{name}{step}{count}")
    return Panel(words, title=title, title_align="left")


def _indented(line: str) -> str:
    return " " * (len(line) - len(line.lstrip())) + clean(line)


def _decision(question: Question, console: Console, read: Read) -> Answer | None:
    try:
        if question.kind is Kind.CLARIFICATION:
            return _clarified(question, console, read)
        return _chosen(question, console, read)
    except EOFError:
        return None


def _clarified(question: Question, console: Console, read: Read) -> Answer | None:
    for number, option in enumerate(question.options, 1):
        console.print(Text(f"  {number}. {clean(option)}"))
    pick = "a number or your own words" if question.options else "your answer"
    hint = f"{pick}; {STOP} ends the task, an empty line leaves it for later"
    console.print(Text(hint, style="dim"))
    said = read("> ").strip()
    if not said:
        return None
    if said == STOP:
        return {"type": "reject", "message": "stopped at the terminal"}
    numbered = {str(n): option for n, option in enumerate(question.options, 1)}
    return {"type": "respond", "message": numbered.get(said, said)}


def _chosen(question: Question, console: Console, read: Read) -> Answer | None:
    allowed = question.allowed or ALLOWED[question.kind]
    offered = [*(WORDS[question.kind][name] for name in allowed), "[l]ater"]
    prompt = "  ".join(offered) + " > "
    while True:
        typed = read(prompt).strip().lower()
        decision = LETTERS.get(typed, typed)
        if decision == LATER:
            return None
        if decision not in allowed:
            console.print(Text(f"{typed!r} is none of these"), style="yellow")
            continue
        answer = DETAILS[decision](question, console, read)
        if answer is not None:
            return answer


def _approve(_question: Question, _console: Console, _read: Read) -> Answer:
    return {"type": "approve"}


def _reject(_question: Question, _console: Console, read: Read) -> Answer:
    return {"type": "reject", "message": read("Why? > ").strip() or None}


def _respond(_question: Question, _console: Console, read: Read) -> Answer | None:
    said = read("What should be done instead? > ").strip()
    return {"type": "respond", "message": said} if said else None


def _edit(question: Question, console: Console, read: Read) -> Answer | None:
    """Read the arguments to change; what is left out stays as it is."""
    console.print(Text("The arguments to change, as JSON; the rest stays.", "dim"))
    typed = read("edit > ").strip()
    try:
        edits = json.loads(typed)
    except ValueError as error:
        console.print(Text(f"no JSON: {error}"), style="yellow")
        return None
    if not isinstance(edits, dict):
        console.print(Text('write an object, as {"amount": 5}'), style="yellow")
        return None
    return {"type": "edit", "edited_action": edited(question, edits)}


def edited(question: Question, edits: Mapping[str, Any]) -> dict[str, Any]:
    """Return an edit; a value equal to the shown, masked one is no change."""
    changed = {
        name: value
        for name, value in edits.items()
        if name not in question.args or question.args[name] != value
    }
    return {"name": question.name, "args": changed}


Detail = Callable[[Question, Console, Read], Answer | None]
DETAILS: dict[str, Detail] = {
    "approve": _approve,
    "edit": _edit,
    "reject": _reject,
    "respond": _respond,
}
