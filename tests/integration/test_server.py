"""`langgraph dev` serves the graph; a real client drives it, detection on."""

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("langgraph_api", reason="the extra `server` is not installed")

from langgraph_sdk import get_client

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
STARTS_WITHIN_S = 120
QUIET = {
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
    "NO_COLOR": "1",
}
"""Nothing is sent anywhere, and no thread of an earlier session is loaded."""
SECRET = ("API_KEY", "LANGSMITH", "LANGCHAIN", "MENDGRAPH")
"""Settings of whoever runs the tests are not the server's."""

NAME = "mendgraph"

PLAN = {
    "goal": "refund the order",
    "steps": [
        {"id": "s1", "tool": "look_up", "inputs": {"order": "A1"}},
        {"id": "s2", "tool": "look_up", "inputs": {"order": "A2"}},
        {
            "id": "s3",
            "tool": "refund",
            "inputs": {"order": "A1", "amount": "{{ s1.amount }}"},
            "dependencies": ["s1"],
        },
    ],
}
REFUND = {"task": "refund A1", "plan": PLAN}
APPROVE = {"decisions": [{"type": "approve"}]}


def _free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _wait_until_ready(process, url, log):
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"the server did not start:\n{log.read_text()[-3000:]}")


@contextmanager
def _serving(folder, tools):
    port, log = _free_port(), folder / f"{tools}.log"
    kept = {k: v for k, v in os.environ.items() if not any(s in k for s in SECRET)}
    environment = {
        **kept,
        **QUIET,
        "MENDGRAPH_TOOLS": f"studio_tools:{tools}",
        "PYTHONPATH": str(ROOT / "tests" / "services"),
    }
    command = [str(Path(sys.executable).with_name("langgraph")), "dev"]
    command += ["--no-browser", "--no-reload", "--host", "127.0.0.1"]
    command += ["--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, url, log)
            yield url, log
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=20)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server without a model: it runs given plans."""
    with _serving(tmp_path_factory.mktemp("server"), "studio") as served:
        yield served


@pytest.fixture(scope="module")
def chat_server(tmp_path_factory):
    """A server whose model is a scripted double."""
    with _serving(tmp_path_factory.mktemp("chat"), "chatting") as served:
        yield served


async def _own(client):
    """Return the id of the assistant the server made for the graph itself."""
    made = await client.assistants.search(metadata={"created_by": "system"})
    return made[0]["assistant_id"]


async def _to_the_approval(client):
    """Run the refund until a person is asked; return thread and stream."""
    thread = (await client.threads.create())["thread_id"]
    parts = [
        (part.event, part.data)
        async for part in client.runs.stream(
            thread,
            NAME,
            input=REFUND,
            stream_mode=["custom", "updates"],
            stream_subgraphs=True,
        )
    ]
    return thread, parts


def test_the_schema_shows_both_loops(server):
    """With xray the graph has the plan loop's nodes and the step loop's inside it."""

    async def look():
        async with get_client(url=server[0]) as client:
            return await client.assistants.get_graph(await _own(client), xray=True)

    nodes = {node["id"] for node in asyncio.run(look())["nodes"]}
    inner = {f"step:{name}" for name in ("execute", "monitor", "reflect", "retry_tier")}
    assert {"think", "settle", "replan", "clarify", "finish", *inner} <= nodes


def test_settings_are_offered_as_editable_configuration(server):
    """The context schema names the limits and the model, each with its words."""

    async def look():
        async with get_client(url=server[0]) as client:
            return await client.assistants.get_schemas(await _own(client))

    schemas = asyncio.run(look())
    settings = schemas["context_schema"]["properties"]
    assert {"model", "retries", "reasoning_tokens", "seconds"} <= settings.keys()
    assert all(each.get("description") for each in settings.values())
    given = set(schemas["input_schema"]["properties"])
    assert given == {"task", "messages", "plan", "constraints"}


def test_settings_of_an_assistant_bound_its_runs(server):
    """An assistant with one tool call ends with a truthful partial result."""

    async def run():
        async with get_client(url=server[0]) as client:
            small = await client.assistants.create(NAME, context={"executions": 1})
            thread = (await client.threads.create())["thread_id"]
            plan = {"steps": PLAN["steps"][:2]}
            return await client.runs.wait(
                thread, small["assistant_id"], input={"task": "look", "plan": plan}
            )

    values = asyncio.run(run())
    assert values["status"] == "partial"
    assert values["report"]["limits"]["executions"] == 1
    assert "executions exhausted (1 of 1)" in values["answer"]


def test_a_run_streams_to_its_approval_and_resumes_by_id(server):
    """Progress and inner updates stream; the answer goes to the interrupt by its id."""

    async def run():
        async with get_client(url=server[0]) as client:
            thread, parts = await _to_the_approval(client)
            waiting = await client.threads.get_state(thread)
            asked = waiting["interrupts"][0]
            values = await client.runs.wait(
                thread, NAME, command={"resume": {asked["id"]: APPROVE}}
            )
            history = await client.threads.get_history(thread, limit=50)
            return parts, waiting, asked, values, history

    parts, waiting, asked, values, history = asyncio.run(run())
    events = [data["event"] for event, data in parts if event.startswith("custom")]
    assert events[:2] == ["task_started", "plan_ready"]
    inner = [data for event, data in parts if event.startswith("updates|step:")]
    assert {"execute", "monitor"} <= {name for update in inner for name in update}
    assert waiting["next"] == ["step"]
    assert asked["value"]["action_requests"][0]["args"] == {"order": "A1", "amount": 40}
    assert asked["value"]["metadata"]["kind"] == "approval"
    assert values["status"] == "done"
    assert values["report"]["executions"] == 3
    assert values["messages"][-1]["content"] == values["answer"]
    assert [each["next"] for each in history][-2:] == [["think"], ["__start__"]]


def test_a_wrong_answer_leaves_the_question_open(server):
    """A resume of the wrong shape is refused by its words and can be given again."""

    async def run():
        async with get_client(url=server[0]) as client:
            thread, _ = await _to_the_approval(client)
            asked = (await client.threads.get_state(thread))["interrupts"][0]
            wrong = {"resume": {asked["id"]: {"answer": "yes"}}}
            failed = await client.runs.wait(
                thread, NAME, command=wrong, raise_error=False
            )
            still = (await client.threads.get_state(thread))["interrupts"]
            right = {"resume": {asked["id"]: APPROVE}}
            return failed, still, await client.runs.wait(thread, NAME, command=right)

    failed, still, values = asyncio.run(run())
    assert failed["__error__"]["error"] == "AnswerError"
    assert len(still) == 1
    assert values["status"] == "done"


def test_a_fork_from_an_earlier_checkpoint_runs_beside_the_first_branch(server):
    """Time travel through the API: the fork finishes, the old branch is as it was."""

    async def run():
        async with get_client(url=server[0]) as client:
            thread = (await client.threads.create())["thread_id"]
            plan = {"steps": PLAN["steps"][:2]}
            first = await client.runs.wait(
                thread, NAME, input={"task": "look", "plan": plan}
            )
            history = await client.threads.get_history(thread, limit=50)
            before = next(each for each in history if "step" in each["next"])
            again = await client.runs.wait(
                thread, NAME, input=None, checkpoint=before["checkpoint"]
            )
            old = await client.threads.get_state(
                thread, checkpoint=history[0]["checkpoint"]
            )
            return first, again, old, history

    first, again, old, history = asyncio.run(run())
    assert again["status"] == first["status"] == "done"
    assert old["values"]["report"] == first["report"]
    assert old["checkpoint"] == history[0]["checkpoint"]


def test_messages_go_in_and_out_and_mending_blocks_nothing(chat_server):
    """A chat message becomes the task; planning, reflecting and replanning run too."""

    async def run():
        async with get_client(url=chat_server[0]) as client:
            thread = (await client.threads.create())["thread_id"]
            answers = []
            for text in ("Where is order A7?", "And once more?"):
                said = {"messages": [{"role": "user", "content": text}]}
                answers.append(await client.runs.wait(thread, NAME, input=said))
            return answers

    first, second = asyncio.run(run())
    assert first["status"] == "done"
    assert first["report"]["replans"] == 1
    assert [each["type"] for each in first["messages"]] == ["human", "ai"]
    assert '"order":"A7"' in first["messages"][-1]["content"]
    assert [each["type"] for each in second["messages"]] == ["human", "ai"] * 2
    assert first["report"]["task_id"] != second["report"]["task_id"]


def test_a_message_left_in_the_servers_store_is_heard(server):
    """A store write through the API is a signal: noted, read once, never lost."""

    async def run():
        async with get_client(url=server[0]) as client:
            thread = (await client.threads.create())["thread_id"]
            room = ["mendgraph", "threads", thread, "signals"]
            await client.store.put_item(room, "k1", {"text": "use the new prices"})
            plan = {"steps": PLAN["steps"][:1]}
            given = {"task": "look", "plan": plan}
            values = await client.runs.wait(thread, NAME, input=given)
            state = await client.threads.get_state(thread)
            kept = await client.store.get_item(room, "k1")
            return values, state["values"], kept["value"]

    values, state, kept = asyncio.run(run())
    assert values["status"] == "done"
    assert state["constraints"] == ["use the new prices"]
    assert kept["read"] is True


def test_the_detection_of_blocking_calls_is_on(server):
    """A tool that blocks the event loop is caught: the check below can fail."""

    async def run():
        async with get_client(url=server[0]) as client:
            thread = (await client.threads.create())["thread_id"]
            step = {"id": "s1", "tool": "stall", "inputs": {"order": "A1"}}
            given = {"task": "stall", "plan": {"steps": [step]}}
            return await client.runs.wait(thread, NAME, input=given)

    values = asyncio.run(run())
    assert values["status"] != "done"
    assert "Blocking call to time.sleep" in str(values["report"]["not_done"])


def test_nothing_else_blocks_the_event_loop(server, chat_server):
    """After all of this neither server has reported a blocking call of ours."""
    for _, log in (server, chat_server):
        text = log.read_text()
        assert "Application started up" in text
        assert "BlockingError" not in text
