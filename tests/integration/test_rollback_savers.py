"""Going back and on gives the never-failed state on every saver, and leaks nothing."""

import asyncio
from contextlib import closing, contextmanager
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph.graph.build import create_mend_agent
from mendgraph.graph.rollback import arollback, rollback

THREAD = {"configurable": {"thread_id": "t"}}
STEPS = 12


class Counter:
    """A tool that counts its calls and fails for one name while it is broken."""

    def __init__(self):
        self.calls, self.broken = [], set()

    def add(self, name: str, number: int = 0) -> dict[str, int]:
        """Return one more."""
        self.calls.append(name)
        if name in self.broken:
            raise ValueError(f"{name} takes no such number")
        return {"number": number + 1}

    def agent(self, **where):
        return create_mend_agent(
            tools=[self.add], assume="read", learn=False, seeded=False, **where
        )


def _given():
    def step(index):
        needs = [f"s{index - 1}"] if index > 1 else []
        read = {"number": f"{{{{ s{index - 1}.number }}}}"} if needs else {}
        inputs = {"name": f"s{index}", **read}
        return {
            "id": f"s{index}",
            "tool": "add",
            "inputs": inputs,
            "dependencies": needs,
        }

    return {"task": "count", "plan": {"steps": [step(n) for n in range(1, STEPS + 1)]}}


@contextmanager
def _in_memory(tmp_path, request):
    yield {"checkpointer": InMemorySaver()}


@contextmanager
def _in_folder(tmp_path, request):
    yield {"persist": tmp_path / uuid4().hex}


@contextmanager
def _in_postgres(tmp_path, request):
    import psycopg

    uri, name = request.getfixturevalue("postgres_uri"), f"rb_{uuid4().hex[:8]}"
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    before, _, options = uri.partition("?")
    base = before.rsplit("/", 1)[0]
    yield {"persist": f"{base}/{name}" + (f"?{options}" if options else "")}


SAVERS = [
    pytest.param(_in_memory, id="memory"),
    pytest.param(_in_folder, id="folder"),
    pytest.param(_in_postgres, id="postgres", marks=pytest.mark.postgres),
]


def _sync(agent, config, given):
    return agent.invoke(given, config)


def _async(agent, config, given):
    return asyncio.run(agent.ainvoke(given, config))


def _back(agent, to):
    return rollback(agent, THREAD, to)


def _aback(agent, to):
    return asyncio.run(arollback(agent, THREAD, to))


WAYS = [
    pytest.param((_sync, _back), id="sync"),
    pytest.param((_async, _aback), id="async"),
]


def _outcome(agent):
    values = agent.get_state(THREAD).values
    steps = {
        i: (r["status"], r["summary"]["output_digest"], r["arguments_digest"])
        for i, r in values["steps"].items()
    }
    return values["status"], values["answer"], steps, values["plan"]


def _without_failure(where):
    with closing(Counter().agent(**where)) as agent:
        agent.invoke(_given(), THREAD)
        return _outcome(agent)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("saver", SAVERS)
def test_back_and_on_equals_never_failed(saver, way, tmp_path, request):
    """The failed run, taken back to its last success and resumed, ends the same."""
    run, back = way
    with saver(tmp_path, request) as plain:
        expected = _without_failure(plain)
    counter = Counter()
    counter.broken.add(f"s{STEPS}")
    with saver(tmp_path, request) as where, closing(counter.agent(**where)) as agent:
        assert run(agent, THREAD, _given())["status"] == "partial"
        counter.broken.clear()
        counter.calls.clear()
        done = back(agent, f"s{STEPS - 1}")
        assert len(done.kept) == STEPS - 1
        assert run(agent, THREAD, None)["status"] == "done"
        assert _outcome(agent) == expected
    assert counter.calls == [f"s{STEPS}"]
    assert len(counter.calls) / STEPS < 0.1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("saver", SAVERS)
def test_forks_do_not_leak(saver, way, tmp_path, request):
    """Each of three branches still shows exactly what it held when it was left."""
    run, back = way
    counter = Counter()
    counter.broken.add("s9")
    with saver(tmp_path, request) as where, closing(counter.agent(**where)) as agent:
        run(agent, THREAD, _given())
        left = {}
        for to in ("s3", "s2"):
            before = agent.get_state(THREAD).values
            left[back(agent, to).left] = before
            counter.broken ^= {"s9"}
            run(agent, THREAD, None)
        for checkpoint, values in left.items():
            place = {"thread_id": "t", "checkpoint_id": checkpoint}
            assert agent.get_state({"configurable": place}).values == values
        branches = [*left.values(), agent.get_state(THREAD).values]
    assert [each["status"] for each in branches] == ["partial", "done", "partial"]
    assert [_rollbacks(each) for each in branches] == [0, 1, 1]
    runs = [each["steps"]["s9"]["attempts"][0]["started_at"] for each in branches]
    assert len(set(runs)) == 3


def _rollbacks(values):
    return sum(note["kind"] == "rollback" for note in values["notes"])
