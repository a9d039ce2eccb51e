"""Crashes at exact points, each in a process of its own; prints one JSON line a case.

The first worker of a case dies by SIGKILL inside its tool, before or after the money
is moved. The second goes on from the folder. Workers are forked while there are no
threads.
"""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

from langgraph.types import Command

from mendgraph import ThreadBusy, create_mend_agent
from mendgraph.state.policy import ConfirmCall, Effect, ToolPolicy
from mendgraph.tools.memory.in_memory import InMemoryMemory

CONFIG = {"configurable": {"thread_id": "t"}}
TASK = {
    "task": "pay",
    "plan": {
        "steps": [
            {"id": "pay", "tool": "pay", "inputs": {"order": "A"}},
            {
                "id": "after",
                "tool": "find",
                "inputs": {"order": "A"},
                "dependencies": ["pay"],
            },
        ]
    },
}
LOOK = ConfirmCall(
    tool="find",
    arguments={"order": "{{ args.order }}"},
    done_when="output.found",
    absent_when="!output.found",
)
PAY = ToolPolicy(effect=Effect.IRREVERSIBLE, timeout_s=0.3)
POLICIES = {
    "keyed": PAY.but(idempotency_arg="key"),
    "confirmed": PAY.but(confirm_with=LOOK),
    "blind": PAY,
}


def agent_in(folder, kind, when=None):
    """An agent over a bank that is a file; its tool may kill its own process."""
    bank = folder / "bank.txt"

    def lines():
        return bank.read_text().split() if bank.exists() else []

    def pay(order: str, key: str = "-") -> dict:
        """Pay; a known key is answered from memory."""
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if key == "-" or f"{order}:{key}" not in lines():
            with bank.open("a") as file:
                file.write(f"{order}:{key}\n")
        if when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"paid": order}

    def find(order: str) -> dict:
        """Find a payment."""
        if when == "slow":
            time.sleep(3)
        return {"found": any(line.startswith(order) for line in lines())}

    read = ToolPolicy(effect=Effect.READ, idempotent=True)
    return create_mend_agent(
        tools=[pay, find],
        policies={"pay": POLICIES[kind], "find": read},
        persist=folder / "kept",
        memory=InMemoryMemory(clock=time.time),
        seeded=False,
    )


def invoke(agent, value, mode):
    if mode == "async":
        return asyncio.run(agent.ainvoke(value, CONFIG))
    return agent.invoke(value, CONFIG)


def forked(work):
    """Run a function in a child; return what it returns, or the signal it died of."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            told = work()
        except BaseException as error:  # noqa: BLE001 - told to the parent
            told = {"error": f"{type(error).__name__}: {error}"}
        os.write(writer, json.dumps(told).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    return (
        {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else json.loads(text)
    )


def crash(folder, case):
    """Die, go on, perhaps ask, perhaps answer."""
    kind, when, mode, how = (case[n] for n in ("kind", "when", "mode", "how"))
    first = forked(lambda: invoke(agent_in(folder, kind, when), TASK, mode))

    def second():
        agent = agent_in(folder, kind)
        result = invoke(agent, None if how == "resume" else TASK, mode)
        asked = [
            i.value["metadata"]["options"] for i in result.get("__interrupt__", ())
        ]
        if asked:
            truth = "it happened" if when == "after" else "it did not happen"
            said = {"decisions": [{"type": "respond", "message": truth}]}
            result = invoke(agent, Command(resume=said), mode)
        return {"status": result["status"], "asked": asked}

    told = forked(second)
    bank = folder / "bank.txt"
    paid = bank.read_text().split() if bank.exists() else []
    return {**case, **told, "died": first.get("signal"), "paid": len(paid)}


def busy(folder, case):
    """While one process runs a thread, another one is refused; then it may."""
    mode, pid = case["mode"], os.fork()
    if pid == 0:
        invoke(agent_in(folder, "keyed", "slow"), TASK, mode)
        os._exit(0)
    time.sleep(1.5)

    def second():
        try:
            invoke(agent_in(folder, "keyed"), {"task": "other", **TASK}, mode)
        except ThreadBusy as error:
            return {"refused": str(error)}
        return {"refused": ""}

    refused = forked(second)
    os.waitpid(pid, 0)
    later = forked(lambda: agent_in(folder, "keyed").get_state(CONFIG).values["status"])
    paid = (folder / "bank.txt").read_text().split()
    return {**case, **refused, "status": later, "paid": len(paid)}


def main():
    """Work on the cases given as JSON; print what came of each."""
    root = Path(sys.argv[1])
    for number, case in enumerate(json.loads(sys.argv[2])):
        folder = root / str(number)
        folder.mkdir()
        work = busy if case.get("kind") == "busy" else crash
        sys.stdout.write(json.dumps(work(folder, case)) + "\n")


if __name__ == "__main__":
    main()
