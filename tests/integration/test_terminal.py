"""Scripted sessions at a real pseudo-terminal: approval, edit, Ctrl-C, rollback."""

import json
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = runpy.run_path(str(ROOT / "tests" / "services" / "terminal.py"))
Terminal, CTRL_C = SERVICES["Terminal"], SERVICES["CTRL_C"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty"),
]

SLOW_TOOLS = '''
import time
from pathlib import Path

def note(text: str) -> dict:
    """Write a line."""
    with Path("log.txt").open("a") as log:
        log.write(text + "\\n")
    return {"text": text}

def sleepy(text: str) -> dict:
    """Take a minute, unless the file `awake` is there."""
    if not Path("awake").exists():
        note("began")
        time.sleep(60)
    return note(text)

READ = {"effect": "read", "idempotent": True}
tools = {"tools": [note, sleepy], "policies": {"note": READ, "sleepy": READ}}
'''
SLOW_PLAN = {
    "steps": [
        {"id": "first", "tool": "note", "inputs": {"text": "first"}},
        {
            "id": "second",
            "tool": "sleepy",
            "inputs": {"text": "second"},
            "dependencies": ["first"],
        },
    ]
}


@pytest.fixture
def shop(tmp_path):
    """A folder with the shop example."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


RUN_SHOP = (
    "run",
    "--tools",
    "examples.shop_tools:toolkit",
    "--plan",
    "examples/shop_plan.json",
    "--thread",
    "shop",
)


def refunds(folder: Path) -> list[float]:
    lines = (folder / "refunds.jsonl").read_text().splitlines()
    return [json.loads(line)["amount"] for line in lines]


def test_run_approval_edit_finish(shop) -> None:
    """The amount is changed at the approval, and that amount is paid once."""
    with Terminal(shop, *RUN_SHOP) as terminal:
        terminal.expect("Approval needed: refund, step pay_back")
        terminal.expect('"amount": 59.9')
        terminal.expect("[e]dit")
        terminal.type("x")
        terminal.expect("none of these")
        terminal.type("e")
        terminal.expect("edit >")
        terminal.type('{"amount": 5')
        terminal.expect("no JSON")
        terminal.type("e")
        terminal.expect("edit >")
        terminal.type('{"amount": 5}')
        terminal.expect("Done: 3 of 3 steps")
        assert terminal.end() == 0
        assert "\x1b[" in terminal.raw
    assert refunds(shop) == [5.0]
    assert "5.0 euro to Li" in (shop / "note-A-100.txt").read_text()


def test_rollback_names_effects_before_it_goes_back(shop) -> None:
    """Going back says which effect stays, asks, and the refund is not paid twice."""
    with Terminal(shop, *RUN_SHOP, NO_COLOR="1") as terminal:
        terminal.expect("[a]pprove")
        terminal.type("a")
        assert terminal.end() == 0
        assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", terminal.raw)
    with Terminal(shop, "rollback", "shop", "--to", "find") as terminal:
        terminal.expect("stay done: find")
        terminal.expect("refund")
        terminal.expect("Go back? [y/N]")
        terminal.type("y")
        terminal.expect("mendgraph resume shop")
        assert terminal.end() == 0
    with Terminal(shop, "resume", "shop") as terminal:
        terminal.expect("Done: 3 of 3 steps")
        assert terminal.end() == 0
    assert refunds(shop) == [59.9]


def test_ctrl_c_leaves_a_thread_that_goes_on(tmp_path) -> None:
    """Ctrl-C ends at once, says how to go on, and finished steps stay finished."""
    (tmp_path / "slow_tools.py").write_text(SLOW_TOOLS)
    (tmp_path / "plan.json").write_text(json.dumps(SLOW_PLAN))
    words = ("run", "--tools", "slow_tools:tools", "--plan", "plan.json")
    with Terminal(tmp_path, *words, "--thread", "slow", "--plain") as terminal:
        terminal.expect("step started   second")
        terminal.press(CTRL_C)
        terminal.expect("mendgraph resume slow", within_s=20)
        assert terminal.end(within_s=20) == 130
        assert "Traceback" not in terminal.text
    (tmp_path / "awake").touch()
    with Terminal(tmp_path, "resume", "slow") as terminal:
        terminal.expect("Done: 2 of 2 steps")
        assert terminal.end() == 0
    log = (tmp_path / "log.txt").read_text().split()
    assert [log.count("first"), log[-1]] == [1, "second"]


def test_a_question_left_for_later_is_asked_by_resume(shop) -> None:
    """Leaving a question open ends with 5; resume asks the same one again."""
    with Terminal(shop, *RUN_SHOP) as terminal:
        terminal.expect("[l]ater")
        terminal.type("l")
        terminal.expect("mendgraph resume shop")
        assert terminal.end() == 5
    with Terminal(shop, "resume", "shop") as terminal:
        terminal.expect("[r]eject")
        terminal.type("r")
        terminal.expect("Why?")
        terminal.type("the goods were kept")
        terminal.expect("A question")
        terminal.expect("the goods were kept")
        terminal.type("/stop")
        assert terminal.end() == 3
    assert not (shop / "refunds.jsonl").exists()
