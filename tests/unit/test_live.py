"""The live view: folding events, plain lines, the table and the last words."""

import io
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mendgraph.closing import closing
from mendgraph.live import LiveView, picture, summary, wants_plain
from mendgraph.progress import Progress, clean, fold, line, read
from mendgraph.report import view
from mendgraph.state.events import Event, EventKind

STATES = runpy.run_path(
    str(Path(__file__).parents[1] / "services" / "report_states.py")
)


def event(kind: str, text: str = "", step_id: str | None = None, **more) -> Event:
    at, attempt = more.pop("at", 100.0), more.pop("attempt", 1)
    return Event(
        event=EventKind(kind),
        id=f"{kind}:{step_id}:{attempt}:{text}",
        at=at,
        step_id=step_id,
        attempt=attempt,
        text=text,
        data=more,
    )


PLAN = event("plan_ready", "2 steps", steps=[{"id": "s1"}, {"id": "s2"}], version=1)
HEALING = (
    event("task_started", "count the orders", at=100.0),
    PLAN,
    event("step_started", "load", "s1", tool="sql", at=101.0),
    event("correction", "no such column → other arguments", "s1", at=102.0),
    event("step_started", "renamed the column", "s1", attempt=2, at=103.0),
    event("step_finished", '{"rows": 3}', "s1", attempt=2, at=104.0),
)


def folded(*events: Event) -> Progress:
    progress = Progress()
    for each in events:
        progress = fold(progress, each)
    return progress


def console(**options) -> Console:
    return Console(file=io.StringIO(), width=100, height=20, **options)


def printed(where: Console) -> str:
    return where.file.getvalue()


def squeezed(where: Console) -> str:
    return " ".join(printed(where).split())


def test_events_become_the_state_of_the_plan() -> None:
    """A step that failed and was mended ends as done at its second attempt."""
    progress = folded(*HEALING)
    assert (progress.task, progress.version) == ("count the orders", 1)
    assert {name: row.state for name, row in progress.rows.items()} == {
        "s1": "done",
        "s2": "pending",
    }
    assert progress.rows["s1"].attempt == 2
    assert progress.counts == {"call": 2, "correction": 1}


def test_a_repeated_event_changes_nothing() -> None:
    """A resumed node tells the same happening again; it counts once."""
    once = folded(*HEALING)
    assert once == folded(*HEALING, *HEALING)


def test_what_mended_a_step_is_news() -> None:
    """Failures and the success after them are told; a plain success is not."""
    news = folded(*HEALING, event("step_finished", "ok", "s2")).news
    assert any("no such column" in each for each in news)
    assert any("step finished" in each and "s1 #2" in each for each in news)
    assert not any("s2" in each for each in news)


def test_replanning_voids_and_adds_steps() -> None:
    """Dropped steps stay on the table as void; added ones join it."""
    change = event(
        "replanned", "version 2", added=["s3"], dropped=["s2"], replaced={}, version=2
    )
    progress = folded(PLAN, change)
    assert {name: row.state for name, row in progress.rows.items()} == {
        "s1": "pending",
        "s2": "void",
        "s3": "pending",
    }
    assert progress.version == 2


def test_budgets_show_when_an_event_carries_them() -> None:
    """Spent and allowed are shown together or not at all."""
    told = event("note", spent={"retries": 3}, limits={"retries": 10, "steps": 9})
    assert folded(told).budgets == ("retries 3 of 10",)


def test_a_plain_line_has_time_kind_step_and_reason() -> None:
    """One event is one line."""
    failed = event("step_failed", "503\nfrom the shop", "s4", attempt=3, at=112.5)
    assert line(failed, 100.0) == (
        "     12 s  step failed    s4 #3           503 from the shop"
    )


def test_terminal_escapes_are_taken_out() -> None:
    """A tool's output can neither colour, move nor reorder what is shown."""
    hostile = "\x1b[2J\x1b]0;gone\x07ok\u202egpj.exe\r\n\x9b31m"
    assert clean(hostile) == "[2J ]0;gone ok gpj.exe 31m"


@pytest.mark.parametrize(
    "raw",
    [None, 7, "text", [], {}, {"event": "new_kind", "id": "x", "at": 1.0}],
)
def test_unknown_events_are_ignored(raw) -> None:
    """What is no event of ours neither shows nor crashes."""
    assert read(raw) is None
    where = console()
    live = LiveView(where, plain=True)
    live.show(raw)
    assert printed(where) == ""
    assert live.progress == Progress()


def test_fields_of_a_newer_version_are_ignored() -> None:
    """An event with a field more is still an event."""
    assert read({**PLAN.plain(), "later": 1}) == PLAN


DATA = ("steps", "version", "dropped", "added", "status", "spent", "limits", "tool")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.sampled_from(EventKind),
    st.dictionaries(
        st.sampled_from(DATA),
        json_values,
    ),
)
def test_any_data_is_survived(kind, data) -> None:
    """Whatever an event carries, the view can be drawn after it."""
    odd = Event(event=kind, id="odd", at=1.0, step_id="s9", data=data)
    progress = folded(PLAN, odd)
    where = console()
    where.print(picture(progress, 20))
    assert {"s1", "s2"} <= set(progress.rows)
    assert "steps" in printed(where)


def test_a_table_is_drawn_on_a_terminal() -> None:
    """With a terminal the plan, the failure and the counts are on the screen."""
    where = console(force_terminal=True, color_system=None)
    with LiveView(where, plain=False) as live:
        for each in HEALING:
            live.show(each.plain())
    text = squeezed(where)
    assert "✓ s1 #2" in text
    assert "○ s2" in text
    assert "2 calls · 1 correction" in text
    assert "count the orders" in text


def test_plain_lines_come_without_a_terminal() -> None:
    """Without a terminal each event is one line without any escape."""
    where = console()
    with LiveView(where) as live:
        for each in HEALING:
            live.show(each)
    lines = printed(where).splitlines()
    assert len(lines) == len(HEALING)
    assert "\x1b" not in printed(where)


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [
        (True, {"TERM": "xterm-256color"}, False),
        (True, {"TERM": "dumb"}, True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, True),
        (False, {"TERM": "xterm"}, True),
    ],
)
def test_plain_is_chosen_by_terminal_and_environment(
    terminal, environment, expected
) -> None:
    """NO_COLOR, TERM=dumb and a pipe each ask for plain lines."""
    where = console(force_terminal=terminal)
    assert wants_plain(where, environment) is expected


def test_a_long_plan_shows_what_matters_first() -> None:
    """On a short terminal running and failed steps win over finished ones."""
    steps = [{"id": f"n{number}"} for number in range(60)]
    progress = folded(
        event("plan_ready", steps=steps), event("step_failed", "no", "n50")
    )
    where = console()
    where.print(picture(progress, 20))
    assert "✕ n50" in squeezed(where)
    assert "and 52 more steps" in printed(where)


def test_the_summary_of_a_state_says_what_is_not_done() -> None:
    """The last words have figures, warnings, open steps with reasons, the answer."""
    given_state = STATES["failed"]()
    where = Console(file=io.StringIO(), width=200)
    summary(view(given_state.pop("state"), **given_state), where)
    text = printed(where)
    for words in (
        "Partly done: 3 of 8 steps",
        "! Nobody knows whether the effect of refund",
        "✕ refund is not done (failed): 503 Service Unavailable",
        "⊘ ledger is not done (blocked): waits for refund",
        "Tier 1 retries",
        "The amount is 59.90 EUR.",
    ):
        assert words in text


def test_the_summary_of_an_invoke_result_uses_its_report() -> None:
    """What `invoke` returns has no plan; its own report is told."""
    end = closing(
        {
            "status": "partial",
            "answer": "half",
            "report": {
                "steps": 2,
                "done": ["a"],
                "not_done": [{"step_id": "b", "status": "failed", "why": "503"}],
                "stopped_by": "retries exhausted (10 of 10)",
                "executions": 12,
                "retries": {"tier1": 2, "tier2": 0, "tier3": 1},
                "caf": 1.5,
                "seconds": 3.25,
            },
        }
    )
    assert end.headline == "Partial: 1 of 2 steps done"
    assert end.warnings == ("Stopped: retries exhausted (10 of 10)",)
    assert [(i.step_id, i.why) for i in end.unfinished] == [("b", "503")]
    figures = {figure.label: figure.value for figure in end.figures}
    assert figures["Retries of tier1"] == "2"
    assert figures["Correction amplification"] == "1.50"
    assert figures["Time"] == "3.2 s"


def test_the_summary_of_nothing_claims_nothing() -> None:
    """An empty result is a run without a plan."""
    assert closing({}).headline == "Running: there is no plan with steps"
