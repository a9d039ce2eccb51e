"""The commands: what they print, what they end with, and what they refuse."""

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mendgraph.cli.main import app

ROOT = Path(__file__).parents[2]
TOOLS = "examples.shop_tools:toolkit"
RUN = ("run", "--tools", TOOLS, "--plan", "examples/shop_plan.json")


def call(folder: Path, *words: str):
    """Run a command in a folder."""
    before, path = Path.cwd(), list(sys.path)
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name in [n for n in sys.modules if n.split(".")[0] == "examples"]:
            del sys.modules[name]


def call_json(folder: Path, *words: str):
    """Run a command with --json; stdout must be one JSON object."""
    return json.loads(call(folder, *words, "--json").stdout)


def make_shop(folder: Path) -> Path:
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


@pytest.fixture
def shop(tmp_path):
    """A folder with the shop example, where nothing ran yet."""
    return make_shop(tmp_path)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A folder with a thread that waits, and one that is done. Only to look at."""
    folder = make_shop(tmp_path_factory.mktemp("shop"))
    for thread in ("open", "done"):
        assert call(folder, *RUN, "--thread", thread).exit_code == 5
    assert call(folder, "resume", "done", "--approve").exit_code == 0
    return folder


def test_without_a_terminal_a_question_ends_the_run(shop) -> None:
    """The message names `mendgraph resume`; --json has the question; code 5."""
    told = call(shop, *RUN, "--thread", "t")
    assert told.exit_code == 5
    assert "mendgraph resume t" in told.stdout
    found = call_json(shop, "resume", "t")
    assert (found["status"], found["exit_code"]) == ("waiting", 5)
    [question] = found["questions"]
    assert question["metadata"]["step_id"] == "pay_back"
    assert question["action_requests"][0]["args"] == {
        "order_id": "A-100",
        "amount": 59.9,
    }
    answer = f'{question["id"]}={{"type": "edit", "args": {{"amount": 1}}}}'
    done = call_json(shop, "resume", "t", "--answer", answer)
    assert (done["status"], done["exit_code"]) == ("done", 0)
    assert '"amount": 1' in (shop / "refunds.jsonl").read_text()


def test_a_rejection_is_followed_by_a_question_and_a_stop(shop) -> None:
    """Rejecting asks what should be done; stopping the task ends with 3."""
    call(shop, *RUN, "--thread", "t")
    assert call(shop, "resume", "t", "--reject", "kept the goods").exit_code == 5
    stopped = call(shop, "resume", "t", "--reject", "enough")
    assert stopped.exit_code == 3
    assert "Cancelled" in stopped.stdout
    assert not (shop / "refunds.jsonl").exists()


def test_an_unreachable_database_fails_the_run(tmp_path) -> None:
    """The result says which step failed and why; the code is 1."""
    (tmp_path / "db_tools.py").write_text(
        "from mendgraph.tools.shipped.sql_postgres import postgres_tools\n"
        "uri = 'postgresql://nobody:hidden@127.0.0.1:1/none'\n"
        "kit = postgres_tools(uri).only('postgres_ping')\n"
    )
    (tmp_path / "plan.json").write_text(
        '{"steps": [{"id": "ping", "tool": "postgres_ping"}]}'
    )
    words = ("run", "--tools", "db_tools:kit", "--plan", "plan.json")
    ended = call(tmp_path, *words, "--limit", "retries=0")
    assert ended.exit_code == 1
    assert "Failed: 0 of 1 step" in ended.stdout
    assert "ping is not done (failed)" in ended.stdout
    assert "Connection refused" in ended.stdout
    assert "hidden" not in ended.stdout


def test_show_tells_plan_questions_and_how_to_go_on(used) -> None:
    """A waiting thread shows its steps, its question and the next command."""
    shown = call(used, "show", "open")
    assert shown.exit_code == 0
    for words in ("find", "pay_back", "Open approval", "mendgraph resume open"):
        assert words in shown.stdout
    found = call_json(used, "show", "open")
    states = {node["id"]: node["status"] for node in found["nodes"]}
    assert states == {"find": "done", "pay_back": "pending", "note": "blocked"}
    assert len(found["questions"]) == 1


def test_show_of_a_finished_thread_has_effects(used) -> None:
    """The refund is in the list of effects."""
    found = call_json(used, "show", "done")
    assert found["status"] == "done"
    effects = [(each["tool"], each["status"]) for each in found["effects"]]
    assert effects == [("refund", "done"), ("write_note", "done")]
    assert "Effects" in call(used, "show", "done").stdout


def test_threads_lists_them_all(used) -> None:
    """Status and task of each thread are in one table."""
    rows = call_json(used, "threads")["threads"]
    assert {row["thread_id"]: row["status"] for row in rows} == {
        "open": "waiting",
        "done": "done",
    }
    assert "Refund order A-100" in call(used, "threads").stdout


def test_a_report_is_written_and_marked_when_unfinished(used) -> None:
    """Both threads give a page; that of the open one says it is not finished."""
    ended = call(used, "report", "done", "--out", "done.html")
    assert (ended.exit_code, "Done: 3 of 3" in ended.stdout) == (0, True)
    going = call(used, "report", "open", "--out", "open.html")
    assert "has not ended" in going.stdout
    assert "unfinished run" in (used / "open.html").read_text()
    assert "unfinished run" not in (used / "done.html").read_text()
    assert call(used, "report", "done", "--out", ".").exit_code == 2


def test_what_was_learned_can_be_listed(used) -> None:
    """Strategies and rules begin with the shipped seeds."""
    assert all(
        row["source"] == "seed" for row in call_json(used, "strategies")["strategies"]
    )
    assert call_json(used, "rules")["rules"]
    assert "signature" in call(used, "rules").stdout


def test_doctor_finds_tools_without_a_policy(shop) -> None:
    """An unannotated tool is noted; a broken module is a fault and ends with 1."""
    (shop / "bare_tools.py").write_text("def look(x: int):\n    return x\nt = [look]\n")
    found = call_json(shop, "doctor", "--tools", "bare_tools:t")["findings"]
    states = {each["what"]: each["state"] for each in found}
    assert states["tool look"] == "note"
    assert states["folder .mendgraph"] == "ok"
    assert call(shop, "doctor", "--tools", "none_such:t").exit_code == 1
    assert call(shop, "doctor", "--model", "nonsense").exit_code == 1


def test_the_graph_has_both_loops() -> None:
    """The Mermaid text has the nodes of the plan loop and of the step loop."""
    drawn = CliRunner().invoke(app, ["graph"]).stdout
    for node in ("think", "settle", "replan", "clarify", "execute", "monitor"):
        assert node in drawn


def test_new_makes_a_project_and_never_overwrites(tmp_path) -> None:
    """The files are there, and a second time is refused."""
    made = call(tmp_path, "new", "shop")
    assert made.exit_code == 0
    assert "# shop" in (tmp_path / "shop" / "README.md").read_text()
    assert json.loads((tmp_path / "shop" / "langgraph.json").read_text())["graphs"]
    assert (tmp_path / "shop" / "tests" / "test_plan.py").exists()
    again = call(tmp_path, "new", "shop")
    assert (again.exit_code, "not empty" in again.stderr) == (2, True)


def test_eval_classify_measures_a_file(tmp_path) -> None:
    """It prints one JSON object, and refuses a file that is none of cases."""
    case = {
        "input": "HTTP 429 Too Many Requests",
        "category": "environment",
        "subclass": "rate_limited",
    }
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    assert call_json(tmp_path, "eval", "classify", "cases.jsonl")["n"] == 1
    wrong = call(tmp_path, "eval", "classify", "none.jsonl")
    assert (wrong.exit_code, "cannot read none.jsonl" in wrong.stderr) == (2, True)


WRONG = [
    (("run", "", "--tools", TOOLS), "the task is empty"),
    (("run", "  ", "--tools", TOOLS), "the task is empty"),
    (("run", "count"), "no tools were named"),
    (("run", "count", "--tools", TOOLS), "no model to plan with"),
    (("run", "count", "--tools", TOOLS, "--model", "gibberish"), "names no model"),
    (("run", "count", "--tools", TOOLS, "--model", "deepseek:x"), "DEEPSEEK_API_KEY"),
    (("run", "count", "--tools", "nope:x"), "No module named 'nope'"),
    (("run", "count", "--tools", "examples.shop_tools:x"), "has no 'x'"),
    ((*RUN, "--interrupt-on", "rm"), "no tool is called 'rm'"),
    ((*RUN, "--limit", "x=1"), "write name=value"),
    ((*RUN, "--persist", "examples/shop_plan.json"), "is a file"),
    (("run", "--tools", TOOLS, "--plan", "gone.yaml"), "No such file"),
    (("show", "t"), "there is no folder .mendgraph"),
    (("resume", "t", "--approve", "--reject", "x"), "give one of"),
    (("resume", "t", "--edit", "{"), "no JSON"),
    (("memory", "list", "--persist", "postgresql://x/y"), "keeps no lessons"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_uses_give_one_message_and_two(shop, monkeypatch, words, message) -> None:
    """No traceback, the remedy in the message, nothing on stdout."""
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    monkeypatch.delenv("MENDGRAPH_MODEL", raising=False)
    told = call(shop, *words)
    assert (told.exit_code, told.stdout) == (2, "")
    assert message in told.stderr
    assert "Traceback" not in told.stderr


WRONG_THREADS = [
    (("show", "nobody"), "no thread 'nobody' here; there are: done, open"),
    (("resume", "nobody"), "no thread 'nobody'"),
    (("report", "nobody"), "no thread 'nobody'"),
    (("resume", "open", "--answer", "s9={}"), "'s9' is no open question"),
    (("resume", "open", "--answer", "pay_back={}"), "exactly one decision"),
    (("resume", "open", "--answer", 'pay_back={"type": "maybe"}'), "'approve'"),
    (("resume", "done", "--approve"), "nothing waits"),
    ((*RUN, "--thread", "open"), "is not finished; go on with `mendgraph resume open`"),
    (("rollback", "done", "--to", "find"), "add --yes"),
    (("rollback", "done", "--to", "nowhere", "--yes"), "nowhere"),
    (("memory", "forget", "x"), "no lesson 'x'"),
]


@pytest.mark.parametrize(("words", "message"), WRONG_THREADS)
def test_wrong_threads_and_answers_lose_nothing(used, words, message) -> None:
    """The message names the remedy, and the question is still open after it."""
    told = call(used, *words)
    assert told.exit_code == 2
    assert message in " ".join(told.stderr.split())
    rows = call_json(used, "threads")["threads"]
    assert {row["status"] for row in rows} == {"waiting", "done"}


def test_errors_with_json_are_json(used) -> None:
    """A machine reads the error and the code."""
    told = call_json(used, "show", "nobody")
    assert told["exit_code"] == 2
    assert "no thread" in told["error"]


def test_a_thread_of_another_schema_is_refused(shop) -> None:
    """Neither show nor resume nor run touches it."""
    from mendgraph.graph.build import create_mend_agent

    call(shop, *RUN, "--thread", "t")
    agent = create_mend_agent(persist=shop / ".mendgraph")
    config = {"configurable": {"thread_id": "t"}}
    agent.update_state(config, {"schema_version": 99}, as_node="think")
    agent.close()
    for words in (("show", "t"), ("resume", "t", "--approve"), (*RUN, "--thread", "t")):
        told = call(shop, *words)
        assert (told.exit_code, "state schema 99" in told.stderr) == (2, True)


def test_a_locked_folder_is_named(shop, monkeypatch) -> None:
    """Another program's lock is told with the remedy, and soon."""
    monkeypatch.setattr("mendgraph.cli.opening.LOCKED_S", 0.05)
    call(shop, *RUN, "--thread", "t")
    lock = sqlite3.connect(shop / ".mendgraph" / "store.sqlite", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    told = call(shop, "show", "t")
    lock.close()
    assert (told.exit_code, "another program holds it" in told.stderr) == (2, True)


def test_a_busy_thread_is_refused(shop) -> None:
    """Who runs it, and what to do, is in the message."""
    from mendgraph.tools.lease import hold
    from mendgraph.tools.lease_kinds import FileLease

    call(shop, *RUN, "--thread", "t")
    with hold(FileLease(shop / ".mendgraph" / "locks"), "t"):
        told = call(shop, "resume", "t", "--approve")
    assert (told.exit_code, "is being run by process" in told.stderr) == (2, True)


def test_help_names_every_exit_code() -> None:
    """The codes a script may meet are documented where it looks."""
    words = CliRunner().invoke(app, ["--help"]).stdout
    for code in ("0 done", "1 partly", "2 wrong", "3 a person", "5 a question", "130"):
        assert code in words


def test_a_signal_is_left_for_an_unfinished_thread_only(used) -> None:
    """The message is in the store; a finished or unknown thread takes none."""
    from mendgraph.tools.persist import open_folder

    assert call(used, "signal", "open", "only half of it").exit_code == 0
    with open_folder(used / ".mendgraph") as place:
        kept = place.store.search(("mendgraph", "threads", "open", "signals"))
    assert [item.value["text"] for item in kept] == ["only half of it"]
    for thread, words in (("done", "has ended"), ("nobody", "no thread")):
        told = call(used, "signal", thread, "half")
        assert (told.exit_code, words in told.stderr) == (2, True)
    assert call(used, "signal", "open", " ").exit_code == 2


def test_rollback_with_yes_names_what_it_kept(shop) -> None:
    """Without a terminal --yes is enough; the refund is kept and reused."""
    call(shop, *RUN, "--thread", "t")
    call(shop, "resume", "t", "--approve")
    gone = call_json(shop, "rollback", "t", "--to", "find", "--yes")
    assert gone["kept"] == ["find"]
    fates = {each["tool"]: each["fate"] for each in gone["effects"]}
    assert fates == {"refund": "kept", "write_note": "kept"}
    assert call_json(shop, "resume", "t")["status"] == "done"
    assert len((shop / "refunds.jsonl").read_text().splitlines()) == 1


def test_an_address_of_another_database_makes_no_folder(shop) -> None:
    """A password in it would otherwise lie on the disk, as a folder's name."""
    ended = call(shop, *RUN, "--persist", "mysql://me:secret@host/db")
    assert ended.exit_code == 2
    assert "give a folder or postgresql://" in ended.stderr
    assert [each.name for each in shop.iterdir()] == ["examples"]


def test_a_starter_that_cannot_be_written_says_where(tmp_path) -> None:
    """The file system's reason, and exit code 2."""
    (tmp_path / "file").write_text("")
    ended = call(tmp_path, "new", "file/starter")
    assert ended.exit_code == 2
    assert "cannot be written" in ended.stderr
