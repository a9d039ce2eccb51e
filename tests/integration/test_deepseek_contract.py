"""DeepSeek's contract over real HTTP: the real client against the fake server."""

import asyncio
import json
from typing import TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langchain_deepseek import ChatDeepSeek
from langgraph.graph import END, START, StateGraph
from openai import (
    BadRequestError,
    UnprocessableEntityError,
)
from pydantic import BaseModel

from mendgraph.tools.doubles.deepseek_answers import (
    Served,
)
from mendgraph.tools.doubles.deepseek_rules import (
    RULES,
    no_forced_tool_reasoner,
    no_json_mode,
    no_successive_roles,
    no_thinking_switch,
)
from mendgraph.tools.doubles.fake_deepseek import KEY, FakeDeepSeek
from mendgraph.tools.models.capabilities import CapabilityBook
from mendgraph.tools.models.factory import open_model
from mendgraph.tools.models.reasoner import Reasoner

pytestmark = pytest.mark.enable_socket


class Plan(BaseModel):
    title: str
    steps: list[str] = []


GOOD = Served(content='{"title": "T", "steps": ["a"]}', reasoning="because")
PROMPT = [("user", "Plan it.")]


def flash(server, **options):
    options.setdefault("api_key", KEY)
    return open_model("deepseek:deepseek-flash", base_url=server.base_url, **options)


def original(server, **options):
    return ChatDeepSeek(
        model="deepseek-flash",
        base_url=server.base_url,
        api_key=KEY,
        max_retries=0,
        default_headers={"Connection": "close"},
        **options,
    )


async def no_wait(seconds):
    raise AssertionError(f"nothing here should wait, least of all {seconds} s")


def question(server, **options):
    reasoner = Reasoner(
        [flash(server)], clock=lambda: 0.0, sleep=no_wait, book=CapabilityBook()
    )
    return asyncio.run(reasoner.ask("planner", PROMPT, Plan, **options))


@tool
def search(query: str) -> str:
    """Search the orders."""
    return query


def test_answer_over_http():
    """The record, the reasoning and the provider's own token counts come back."""
    with FakeDeepSeek(GOOD) as server:
        answer = question(server, max_tokens=2_000)
    assert answer.value == Plan(title="T", steps=["a"])
    assert answer.reasoning == "because"
    assert not answer.usage.estimated
    assert answer.usage.reasoning_tokens > 0
    assert server.requests[0]["response_format"] == {"type": "json_object"}
    assert server.requests[0]["max_tokens"] == 2_000


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (RULES, "Thinking mode does not support this tool_choice"),
        ((no_forced_tool_reasoner,), "deepseek-reasoner does not support this"),
    ],
    ids=["B02", "B01"],
)
def test_structured_output_by_forced_tool_is_refused(rules, words):
    """LangChain's default structured output fails in thinking mode (B01, B02)."""
    with FakeDeepSeek(rules=rules) as server:
        forced = original(server).with_structured_output(Plan)
        with pytest.raises(BadRequestError, match=words):
            forced.invoke("json please")


def test_reasoner_needs_no_forced_tool():
    """The reasoner gets its record from the same model without any tool (B01, B02)."""
    with FakeDeepSeek(GOOD) as server:
        assert question(server).value.title == "T"
    assert "tool_choice" not in server.requests[0]


def test_forced_tool_works_with_thinking_off():
    """With thinking off the same forced call is accepted."""
    with FakeDeepSeek() as server:
        model = flash(server, thinking=False)
        forced = model.bind_tools([search], tool_choice="search")
        assert forced.invoke("x").tool_calls[0]["name"] == "search"


def test_json_word():
    """JSON mode without the word is refused; the reasoner always says it (B04)."""
    mode = {"response_format": {"type": "json_object"}}
    with FakeDeepSeek(GOOD) as server:
        with pytest.raises(BadRequestError, match="must contain the word 'json'"):
            original(server).invoke("计划", **mode)
        assert question(server).value.title == "T"


def test_json_mode_refused_is_learned():
    """A server without JSON mode is asked in plain text, now and later (B05)."""
    with FakeDeepSeek(GOOD, rules=(*RULES, no_json_mode)) as server:
        answer = question(server)
    assert answer.attempts == 2
    assert "response_format" not in server.requests[1]


def test_thinking_switch_refused_is_learned():
    """A gateway without the thinking switch is asked without it."""
    with FakeDeepSeek(GOOD, rules=(*RULES, no_thinking_switch)) as server:
        assert question(server, thinking=False).attempts == 2
    assert "thinking" not in server.requests[1]


HISTORY = [
    HumanMessage("Find order 7."),
    AIMessage(
        "",
        tool_calls=[{"name": "search", "args": {"query": "7"}, "id": "c1"}],
        additional_kwargs={"reasoning_content": "look it up"},
    ),
    ToolMessage([{"type": "text", "text": "paid"}], tool_call_id="c1"),
]


def test_reasoning_goes_back_in_tool_turns():
    """The plain client loses the reasoning of a tool call; ours sends it (B06)."""
    with FakeDeepSeek() as server:
        with pytest.raises(BadRequestError, match="Missing `reasoning_content`"):
            original(server).invoke(HISTORY)
        assert flash(server).invoke(HISTORY).text == "pong"
    assert server.requests[-1]["messages"][1]["reasoning_content"] == "look it up"


def test_reasoning_stays_out_of_other_turns():
    """Reasoning of a turn without tools is not sent back (B08)."""
    said = AIMessage("Hello.", additional_kwargs={"reasoning_content": "greet"})
    with FakeDeepSeek() as server:
        flash(server).invoke([HumanMessage("Hi"), said, HumanMessage("Bye")])
    assert "reasoning_content" not in json.dumps(server.requests[0]["messages"])


def test_reasoning_back_can_be_switched_off():
    """For gateways with the old rule nothing is ever sent back (B08)."""
    with FakeDeepSeek(rules=()) as server:
        flash(server, reasoning_back="never").invoke(HISTORY)
    assert "reasoning_content" not in json.dumps(server.requests[0]["messages"])


def test_neighbours_are_merged():
    """Two user messages in a row reach the server as one (B09)."""
    with FakeDeepSeek(rules=(no_successive_roles,)) as server:
        two = [HumanMessage("One."), HumanMessage("Two.")]
        with pytest.raises(BadRequestError, match="successive user"):
            original(server).invoke(two)
        assert flash(server).invoke(two).text == "pong"


def test_tool_result_blocks_become_text():
    """A tool result made of blocks is sent as its text (B30)."""
    with FakeDeepSeek() as server:
        flash(server).invoke(HISTORY)
    assert server.requests[0]["messages"][2]["content"] == "paid"


def test_tool_result_blocks_are_refused_by_the_api():
    """The server itself refuses a list of blocks with status 422 (B30)."""
    with FakeDeepSeek() as server:
        client = original(server).root_client
        message = {"role": "tool", "tool_call_id": "1", "content": [{"type": "text"}]}
        with pytest.raises(UnprocessableEntityError, match="invalid type: sequence"):
            client.chat.completions.create(model="deepseek-flash", messages=[message])


def test_developer_role_is_mapped():
    """The role `developer` is refused by the API and sent as `system` by us (B31)."""
    asked = [ChatMessage(role="developer", content="Be brief."), HumanMessage("Hi")]
    with FakeDeepSeek() as server:
        with pytest.raises(BadRequestError, match="unknown variant `developer`"):
            original(server).invoke(asked)
        flash(server).invoke(asked)
    assert server.requests[-1]["messages"][0]["role"] == "system"


def test_tool_markup_in_content():
    """Markup in place of JSON is judged by the schema or asked for again (B22)."""
    bar = "\uff5c"
    markup = f'<{bar}DSML{bar}tool_calls><{bar}DSML{bar}invoke name="plan">...'
    with FakeDeepSeek(Served(content=markup), GOOD) as server:
        answer = question(server)
    assert answer.attempts == 2
    assert "tool-call markup" in server.requests[1]["messages"][-1]["content"]


def test_null_content_beside_tool_calls():
    """Content that is null beside tool calls is no crash (B24)."""
    function = {"name": "plan", "arguments": '{"title": "T", "steps": "[\\"a\\"]"}'}
    call = {"id": "1", "type": "function", "function": function}
    with FakeDeepSeek(Served(tool_calls=(call,))) as server:
        assert question(server).value == Plan(title="T", steps=["a"])


def test_several_event_loops():
    """One model serves several `asyncio.run` without a lost or doubled request."""
    with FakeDeepSeek(GOOD, GOOD, GOOD) as server:
        model = flash(server)
        for _ in range(3):
            reasoner = Reasoner([model], clock=lambda: 0.0, sleep=no_wait)
            asyncio.run(reasoner.ask("planner", PROMPT, Plan))
        assert len(server.requests) == 3


def test_stream_with_keep_alive_blanks():
    """Comments and blank lines between events do not disturb a stream."""
    with FakeDeepSeek(Served(content="one two three", reasoning="hm")) as server:
        chunks = list(flash(server).stream("x"))
    assert "".join(chunk.text for chunk in chunks) == "one two three"
    thoughts = [chunk.additional_kwargs.get("reasoning_content") for chunk in chunks]
    assert "hm" in thoughts
    assert server.requests[0]["stream"] is True


class State(TypedDict):
    title: str


def test_no_half_json_in_token_streams():
    """Inside a graph the question is neither streamed nor shown as chat tokens."""
    with FakeDeepSeek(GOOD) as server:
        reasoner = Reasoner([flash(server)], clock=lambda: 0.0, sleep=no_wait)

        async def plan(_state: State) -> State:
            answer = await reasoner.ask("planner", PROMPT, Plan)
            return {"title": answer.value.title}

        builder = StateGraph(State)
        builder.add_node("plan", plan)
        builder.add_edge(START, "plan")
        builder.add_edge("plan", END)
        graph = builder.compile()

        async def watch():
            modes = ["messages", "values"]
            return [
                part async for part in graph.astream({"title": ""}, stream_mode=modes)
            ]

        seen = asyncio.run(watch())
    assert not server.requests[0].get("stream")
    assert [part for mode, part in seen if mode == "messages"] == []
    assert seen[-1] == ("values", {"title": "T"})


def test_system_messages_are_merged_in_front():
    """A system prompt and the JSON instruction reach the server as one message."""
    with FakeDeepSeek(GOOD) as server:
        reasoner = Reasoner([flash(server)], clock=lambda: 0.0, sleep=no_wait)
        prompt = [SystemMessage("You plan."), HumanMessage("Plan it.")]
        asyncio.run(reasoner.ask("planner", prompt, Plan))
    roles = [message["role"] for message in server.requests[0]["messages"]]
    assert roles == ["system", "user"]
