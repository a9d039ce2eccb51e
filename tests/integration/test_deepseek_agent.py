"""The whole agent against a real HTTP server that keeps DeepSeek's contract."""

import asyncio
import json

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from mendgraph import create_mend_agent
from mendgraph.tools.doubles.deepseek_answers import (
    BLANK,
    BUSY,
    OUT_OF_MONEY,
    Served,
    cut_off,
    rate_limited,
)
from mendgraph.tools.doubles.fake_deepseek import KEY, FakeDeepSeek
from mendgraph.tools.models.factory import open_model
from mendgraph.tools.vault import Vault

CONFIG = {"configurable": {"thread_id": "t"}}
HOWS = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


def pick(number: int) -> dict:
    """Pick a number."""
    if number != 7:
        raise ValueError(f"invalid value {number} for argument number")
    return {"picked": number}


def says(value, **fields):
    return Served(content=json.dumps(value), **fields)


def plan(number):
    step = {"id": "s", "tool": "pick", "inputs": {"number": number}, "risk": "low"}
    return {"goal": "g", "rationale": "r", "steps": [step]}


PATCH = {"arguments": {"number": 7}, "why": "only 7 is taken"}


class Desk:
    """An agent that talks to the fake server over HTTP."""

    def __init__(self, fake, *, saver=True, **options):
        self.slept = []
        self.store = InMemoryStore()
        model = open_model(
            "deepseek:deepseek-flash", base_url=fake.base_url, api_key=KEY, **options
        )
        self.agent = create_mend_agent(
            model,
            tools=[pick],
            assume="read",
            checkpointer=InMemorySaver() if saver else None,
            store=self.store,
            sleep=self._sleep,
            seeded=False,
        )

    async def _sleep(self, seconds):
        self.slept.append(seconds)

    def run(self, given, how="invoke"):
        if how == "invoke":
            return self.agent.invoke(given, CONFIG)
        return asyncio.run(self.agent.ainvoke(given, CONFIG))


def approve(result):
    asked = result["__interrupt__"][0]
    return Command(resume={asked.id: {"decisions": [{"type": "approve"}]}})


@HOWS
def test_it_plans_runs_fails_and_patches(how):
    """A plan with a wrong number is mended by a patch; both come over HTTP."""
    with FakeDeepSeek(says(plan(1)), says(PATCH)) as fake:
        result = Desk(fake).run({"task": "pick a number"}, how)
    assert result["status"] == "done"
    assert '{"picked":7}' in result["answer"]
    assert len(fake.requests) == result["report"]["model_calls"] == 2


def test_every_request_keeps_the_thinking_contract():
    """JSON mode with the word and no forced tool, no schema, no old reasoning."""
    thought = "the user surely means seven"
    answers = (says(plan(1), reasoning=thought), says(PATCH, reasoning=thought))
    with FakeDeepSeek(*answers) as fake:
        desk = Desk(fake)
        result = desk.run({"task": "pick a number"})
    assert result["status"] == "done"
    for body in fake.requests:
        assert body["response_format"] == {"type": "json_object"}
        assert "json" in json.dumps(body["messages"]).lower()
        assert body.get("tool_choice") in (None, "auto", "none")
        assert "temperature" not in body
        assert thought not in json.dumps(body)
    kept = asyncio.run(Vault(desk.store, "t").reasoning())
    roles = {v["role"]: v["reasoning"] for v in kept.values()}
    assert roles == {"plan": thought, "patch": thought}
    assert result["report"]["spent"]["reasoning_tokens"] > 0


def test_thinking_can_be_switched_off():
    """The switch is in every request, and nothing is kept as reasoning."""
    with FakeDeepSeek(says(plan(7))) as fake:
        desk = Desk(fake, thinking=False)
        assert desk.run({"task": "pick"})["status"] == "done"
    assert [body["thinking"] for body in fake.requests] == [{"type": "disabled"}]


@HOWS
def test_out_of_money_pauses_and_goes_on_after_topping_up(how):
    """402 is not retried; the pause names it; approve plans with one more request."""
    with FakeDeepSeek(OUT_OF_MONEY, says(plan(7))) as fake:
        desk = Desk(fake)
        result = desk.run({"task": "pick"}, how)
        value = result["__interrupt__"][0].value
        assert value["metadata"]["kind"] == "model_unavailable"
        assert "Top up" in value["action_requests"][0]["description"]
        assert len(fake.requests) == 1
        result = desk.run(approve(result), how)
    assert result["status"] == "done"
    assert len(fake.requests) == 2


def test_a_pause_in_the_middle_keeps_what_was_done():
    """402 at the patch pauses the step; the finished plan is not asked for again."""
    with FakeDeepSeek(says(plan(1)), OUT_OF_MONEY, says(PATCH)) as fake:
        desk = Desk(fake)
        result = desk.run({"task": "pick"})
        assert result["__interrupt__"][0].value["metadata"]["step_id"] == "s"
        result = desk.run(approve(result))
    assert result["status"] == "done"
    assert len(fake.requests) == 3


def test_a_rate_limit_is_waited_for_once():
    """429 with Retry-After: one wait of that length, two requests counted."""
    with FakeDeepSeek(rate_limited("7"), says(plan(7))) as fake:
        desk = Desk(fake)
        result = desk.run({"task": "pick"})
    assert result["status"] == "done"
    assert desk.slept == [7.0]
    assert len(fake.requests) == result["report"]["model_calls"] == 2


def test_a_busy_server_is_asked_again():
    """503 backs off and then answers."""
    with FakeDeepSeek(BUSY, says(plan(7))) as fake:
        desk = Desk(fake)
        assert desk.run({"task": "pick"})["status"] == "done"
    assert len(desk.slept) == 1


def test_blanks_and_cut_off_answers_are_never_taken():
    """Blanks are asked for again; a cut-off plan is not completed by guessing."""
    whole = json.dumps(plan(7))
    answers = (BLANK, cut_off(whole[:40]), says(plan(7)))
    with FakeDeepSeek(*answers) as fake:
        result = Desk(fake).run({"task": "pick"})
    assert result["status"] == "done"
    assert len(fake.requests) == 3


def test_a_wrong_key_pauses_and_is_never_shown():
    """401 names the remedy; the key stays out of question and state."""
    with FakeDeepSeek(api_key="another-key") as fake:
        desk = Desk(fake)
        result = desk.run({"task": "pick"})
    value = result["__interrupt__"][0].value
    assert value["metadata"]["kind"] == "model_unavailable"
    assert "API key" in value["action_requests"][0]["description"]
    assert KEY not in str(desk.agent.get_state(CONFIG).values)
    assert KEY not in str(value)


def test_without_a_checkpointer_402_ends_the_task_truthfully():
    """Nobody can top up: failed, with the reason."""
    with FakeDeepSeek(OUT_OF_MONEY) as fake:
        result = Desk(fake, saver=False).run({"task": "pick"})
    assert result["status"] == "failed"
    assert "Top up the account" in result["answer"]


def test_the_next_model_takes_over_over_http():
    """A fallback model on another server answers when the first has no money."""
    with FakeDeepSeek(OUT_OF_MONEY) as poor, FakeDeepSeek(says(plan(7))) as rich:
        model, spare = (
            open_model("deepseek:deepseek-flash", base_url=each.base_url, api_key=KEY)
            for each in (poor, rich)
        )
        agent = create_mend_agent(
            model, fallback_models=[spare], tools=[pick], assume="read", seeded=False
        )
        assert agent.invoke({"task": "pick"})["status"] == "done"
    assert (len(poor.requests), len(rich.requests)) == (1, 1)


def test_an_exploring_step_sends_its_reasoning_back():
    """Tool-call turns in thinking mode keep reasoning_content, or the API refuses."""
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "pick", "arguments": '{"number": 7}'},
    }
    asks = Served(content=None, tool_calls=(call,), reasoning="let me pick")
    with FakeDeepSeek(asks, Served(content="it is seven")) as fake:
        sub = {"goal": "find the number", "tools": ["pick"], "exploring": True}
        given = {"task": "t", "plan": {"steps": [{"id": "e", "subtask": sub}]}}
        result = Desk(fake).run(given)
    assert result["status"] == "done"
    assert "it is seven" in result["answer"]
    turn = fake.requests[1]["messages"][-2]
    assert turn["reasoning_content"] == "let me pick"
