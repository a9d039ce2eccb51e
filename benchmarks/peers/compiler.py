"""An LLMCompiler-style graph: a DAG of calls run in parallel, then a joiner.

After Kim et al. 2023 (arXiv 2312.04511) and the LangGraph tutorial: arguments refer to
earlier tasks by `$n`, errors are observations, the joiner finishes or replans.
"""

import asyncio
import json
import re
from typing import Any, TypedDict

from langchain_core.tools import BaseTool, render_text_description_and_args
from langgraph.graph import END, START, StateGraph

from peers.base import Said, Setup

PLAN = (
    "Given a user query, create a plan to solve it with the utmost parallelizability."
    " Each plan should comprise an action from the following {count} types:\n{tools}\n"
    "{count}. join(): Collects and combines results from prior actions.\n"
    "Each action described above contains input/output types. Each action MUST have a"
    " unique ID, strictly increasing. Inputs for actions can be constants or outputs"
    " from preceding actions, in the format $id. Always call join as the last action.\n"
    "{query}\n{done}"
)
JOIN = (
    "Solve a question answering task. Here are some guidelines: if the observations are"
    " enough, finish with the answer; if not, replan. Respond with\nThought: <reason>\n"
    "Action: Finish(<answer>) or Replan(<why>)\n{query}\n{done}"
)
LINE = re.compile(r"^Thought: (s\d+)\n(\d+)\. (\w+)\((.*)\)$", re.MULTILINE)
REFERENCE = re.compile(r"\$(\d+)(?:\.(\w+))?")
MOST_ROUNDS = 20


class Compiled(TypedDict, total=False):
    """The graph's channels."""

    query: str
    lines: str
    done: str
    answers: dict[str, Any]
    response: str
    rounds: int


class Unresolved(LookupError):
    """An argument refers to a task that gave nothing."""


def _resolved(value: Any, answers: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_resolved(each, answers) for each in value]
    found = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    answer = answers.get(found.group(1))
    told = answer.get(found.group(2)) if isinstance(answer, dict) else None
    if told is None:
        raise Unresolved(value)
    return told


async def run_lines(lines: str, tools: dict[str, BaseTool]) -> str:
    """Run a plan's calls as soon as what they refer to is there; return what came."""
    tasks = LINE.findall(lines)
    answers: dict[str, Any] = {}
    over = {number: asyncio.Event() for _, number, _, _ in tasks}

    async def run(number: str, tool: str, text: str) -> str:
        given = json.loads(text)
        for other, _ in REFERENCE.findall(text):
            if other in over:
                await over[other].wait()
        try:
            after = [_resolved(each, answers) for each in given.pop("after", [])]
            del after
            args = {key: _resolved(value, answers) for key, value in given.items()}
            answers[number] = await tools[tool].ainvoke(args)
            told = json.dumps(answers[number])
        except Unresolved as error:
            told = f"ERROR(Args could not be resolved. Error: {error!r})"
        except Exception as error:  # noqa: BLE001  the tutorial makes errors observations
            told = f"ERROR(Failed to call {tool} with args {text}. Error: {error!r})"
        over[number].set()
        return told.replace("\n", " ")

    came = await asyncio.gather(*(run(n, t, a) for _, n, t, a in tasks))
    return "\n".join(
        f"Thought: {step}\n{number}. {tool}({args})\nObservation: {told}"
        for (step, number, tool, args), told in zip(tasks, came, strict=True)
    )


def compiler_graph(setup: Setup) -> Any:
    """Return the compiled graph."""
    tools = {tool.name: tool for tool in setup.world.tools()}
    described = render_text_description_and_args(list(tools.values()))

    async def plan(state: Compiled) -> Compiled:
        count = len(tools) + 1
        text = PLAN.format(
            count=count, tools=described, query=state["query"], done=state["done"]
        )
        said = await setup.model.ainvoke([("user", text)])
        return {"lines": str(said.text), "rounds": state["rounds"] + 1}

    async def execute(state: Compiled) -> Compiled:
        told = await run_lines(state["lines"], tools)
        return {"done": f"{state['done']}\n{told}".strip()}

    async def join(state: Compiled) -> Compiled:
        text = JOIN.format(query=state["query"], done=state["done"])
        said = str((await setup.model.ainvoke([("user", text)])).text)
        found = re.search(r"Action: Finish\((.*)\)", said, re.DOTALL)
        late = state["rounds"] >= MOST_ROUNDS
        return {"response": found.group(1) if found else "" if not late else "NOT DONE"}

    builder: Any = StateGraph(Compiled)
    for name, node in (("plan", plan), ("execute", execute), ("join", join)):
        builder.add_node(name, node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "execute")
    builder.add_edge("execute", "join")
    builder.add_conditional_edges(
        "join", lambda s: END if s.get("response") else "plan", ["plan", END]
    )
    return builder.compile()


async def llm_compiler(setup: Setup) -> Said:
    """Carry out a task with the compiler."""
    given = {"query": setup.task.text, "done": "", "rounds": 0}
    result = await compiler_graph(setup).ainvoke(given, {"recursion_limit": 1_000})
    text = str(result["response"])
    return Said(text, claims=text.startswith("DONE"), extra={})
