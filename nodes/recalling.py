"""Pulling lessons and knowledge for prompts; memory never pushes (3.4)."""

from mendgraph.nodes.sensitivity import advice, sensitivity_map
from mendgraph.nodes.work import Work
from mendgraph.state.lesson import Found
from mendgraph.tools.memory.protocol import Query
from mendgraph.tools.run import Run


async def recall(run: Run, query: Query, limit: int = 5) -> tuple[Found, ...]:
    """Return the lessons that fit best; a memory that is down gives none."""
    if run.deps.memory is None or not run.deps.learn:
        return ()
    return tuple(await run.deps.memory.recall(query, limit))


async def lessons_for_failure(work: Work, run: Run) -> tuple[Found, ...]:
    """Return what earlier tasks learned from failures like this one."""
    failure = work.failures[-1]
    facts = failure.facts
    return await recall(
        run,
        Query(
            text=work.step.description[:300],
            tools=(facts.tool,) if facts.tool else (),
            tool_classes=(facts.tool_class,) if facts.tool_class else (),
            signatures=(failure.signature,),
            error=facts.message[:400],
        ),
    )


def knowledge_text(run: Run) -> str:
    """Return what planners are told of tools in use: experience, sensitivity."""
    knowledge = run.library.knowledge
    known = [name for name in run.deps.registry.names if knowledge.stats(name).calls]
    described = knowledge.describe(known)
    decisive = advice(sensitivity_map(run.library.influences.all()))
    return "\n".join(part for part in (decisive, described) if part)
