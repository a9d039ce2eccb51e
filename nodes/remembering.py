"""What outlives the task: lessons in memory, strategies, statistics in the store."""

from typing import Any

from mendgraph.nodes.aftercare import aftercare
from mendgraph.nodes.learning import rehearsed
from mendgraph.nodes.work import Work
from mendgraph.state.channels import MendState
from mendgraph.state.lesson import Lesson, Reflection
from mendgraph.state.masking import mask
from mendgraph.state.outcome import TaskStatus
from mendgraph.tools.run import Run


async def remember_reflection(work: Work, run: Run, reflection: Reflection) -> None:
    """Keep a deep reflection as a lesson for later tasks."""
    if _remembers(run) and reflection.lesson:
        task = str(work.state.get("task", ""))
        await run.deps.memory.remember(lesson_of(run, reflection, task))  # type: ignore[union-attr]  # _remembers saw it


def _remembers(run: Run) -> bool:
    return run.deps.memory is not None and run.deps.learn


def lesson_of(run: Run, reflection: Reflection, task: str) -> Lesson:
    """Return the lesson a reflection teaches, masked."""
    said = reflection.lesson or _from_fix(reflection)
    return Lesson(
        id=reflection.id,
        text=mask(said)[:600],
        issue=mask(reflection.observed_issue)[:400],
        strategy=mask(reflection.suggested_strategy or reflection.next_action)[:400],
        signature=reflection.signature,
        tool=reflection.tool,
        tool_class=reflection.tool_class,
        category=reflection.category,
        subclass=reflection.subclass,
        task=mask(task)[:300],
        created_at=run.now(),
        rehearsed=rehearsed(run) or reflection.source == "rehearsal",
        confidence=reflection.confidence,
    )


def _from_fix(reflection: Reflection) -> str:
    """Return what a fix that worked teaches, in a sentence."""
    changed = ", ".join(reflection.patch or ()) or "the way it is called"
    return (
        f"When {reflection.tool} fails with: {reflection.observed_issue[:200]} "
        f"change {changed}: {reflection.next_action[:200]}"
    )


async def close_task(
    state: MendState, run: Run, status: TaskStatus
) -> list[dict[str, Any]]:
    """Write what the task taught; return what there is to say about it."""
    if not run.deps.learn:
        return []
    await _lessons(state, run)
    await _feedback(state, run, status)
    notes = await aftercare(state, run, status)
    await run.library.flush()
    problems = run.deps.memory.problems if run.deps.memory else []
    said = {n.get("text") for n in state.get("notes") or ()}
    return notes + [
        {"kind": "memory", "text": mask(problem)[:300], "at": run.now()}
        for problem in problems
        if problem not in said
    ]


async def _lessons(state: MendState, run: Run) -> None:
    """Keep one lesson for each kind of failure that a changed call mended."""
    if run.deps.memory is None:
        return
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for kept in state.get("reflections") or ():
        reflection = Reflection.model_validate(kept)
        kind = (reflection.signature, tuple(sorted(reflection.patch or ())))
        if reflection.light and reflection.resolved and kind not in seen:
            seen.add(kind)
            lesson = lesson_of(run, reflection, str(state.get("task", "")))
            await run.deps.memory.remember(lesson)


async def _feedback(state: MendState, run: Run, status: TaskStatus) -> None:
    """Tell memory which of the injected lessons helped (noise control, F50)."""
    if run.deps.memory is None:
        return
    shown = [n for n in state.get("notes") or () if n.get("kind") == "lessons"]
    failed = {c["signature"] for c in state.get("corrections") or ()}
    for note in shown:
        hurt = [i for i, sig in note["signatures"].items() if sig in failed]
        fine = [i for i in note["signatures"] if i not in hurt]
        if hurt:
            await run.deps.memory.feedback(hurt, helped=False)
        if fine:
            await run.deps.memory.feedback(
                fine, helped=True if status is TaskStatus.DONE else None
            )
