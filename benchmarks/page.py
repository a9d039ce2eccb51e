"""The document: tables from the figures of one run, targets missed named as such."""

from collections.abc import Callable, Mapping
from typing import Any

from briefs import BRIEFS, brief
from changes import changes
from losses import losses
from tables import table
from targets import all_targets

Figures = Mapping[str, Any]
HEAD = """# Benchmarks beside peers

This page is written by `make bench` (`python benchmarks/all.py`); nothing on it is
typed by hand but these words and the notes under the tables. One simulated model serves
every agent: it answers from what the framework really put into its prompt and errs with
probability q, drawn from hash(seed, task, decision), so all meet the same luck. It is
no model; what is measured is what a framework does with faults, tokens and time.
"""
NOTES: Mapping[str, str] = {
    "overhead": "Milliseconds a step: wall / processor time, medians of interleaved"
    " turns. Ratios are of processor time, with lowest and highest turn. Where a peer"
    " is missing it was not run: its history grows with every step. Five turns, with"
    " 1,000 steps at least two. Two empty loops are"
    " our graph with nodes that do nothing, made of LangGraph alone: what is above them"
    " is ours, what is below is LangGraph's and cannot be saved with this structure.",
    "makespan": "Wall time over the longer of critical path and work / width, steps of"
    " 200 to 500 ms that really sleep, medians of interleaved runs with lowest and"
    " highest. A mended step fails once with a broken connection; its second attempt"
    " and its wait of a second are part of the bound. The waves are plain LangGraph"
    " that sends what is ready and waits for all, with nothing else in it.",
    "tokens": "The floor is the leanest request for a whole plan: the task, the tools"
    " with arguments, one sentence. Seconds are simulated: 0.2 a tool call, 0.6 a"
    " request, 0.02 a token written.",
    "recovery": "Success is judged against the simulated world. `false` counts runs"
    " that claimed success and were wrong. Hopeless faults cannot be mended by anybody:"
    " there success is 0 and being truthful is what counts. Held-out kinds were not"
    " used for tuning. Bare LangGraph has a graph written for each task by hand and no"
    " model.",
    "caf": "Latency and tokens are what a run with the fault took more than the same"
    " run without it, in simulated seconds (0.2 s a tool call; 0.6 s a request and"
    " 20 ms a token). The document's figures are from live systems: its success rates"
    " include models that err; here q = 0.",
    "state_size": "Every step returns 1 MB. Outputs are in the store, once.",
    "memory": "Peak resident set of the agent's process in the demo; PostgreSQL is"
    " another process.",
    "rollback": "A chain is run to its end, taken back and resumed.",
    "latency": "Milliseconds of processor time.",
}
OVERHEAD: Mapping[str, str] = {
    "mendgraph": "mendgraph",
    "langgraph": "LangGraph, one node",
    "two_loops": "two empty loops",
    "create_agent": "create_agent",
}
TITLES: Mapping[str, str] = {
    "recovery": "Recovery",
    "caf": "Price of a correction",
    "tokens": "Prompt tokens",
    "makespan": "Makespan",
    "overhead": "Overhead of a step",
    "state_size": "State on disk",
    "memory": "Memory",
    "rollback": "Rollback",
    "latency": "Latency of decisions",
}


def _recovery(told: Figures) -> str:
    parts = []
    for q, groups in told["grid"].items():
        names = list(next(iter(groups.values())))
        rows = [
            [group, row[names[0]]["runs"], *(_cell(row[name]) for name in names)]
            for group, row in groups.items()
        ]
        parts.append(f"### q = {q}\n\n{table(['faults', 'runs', *names], rows)}")
    controls = [
        [name, f"{c['perfect']:.0%}", f"{c['hopeless']:.0%}"]
        for name, c in told["controls"].items()
    ]
    shown = table(["agent", "no faults, q = 0", "no faults, q = 1"], controls)
    how = "Cells: success, model calls a run; then false successes, repeated effects."
    return "\n\n".join([f"Controls\n\n{shown}", how, *parts])


def _cell(each: Figures) -> str:
    told = f"{each['success']:.0%}, {each['model_calls']:.1f} calls"
    if each["false_success"]:
        told += f", **{each['false_success']} false**"
    if each["duplicates"]:
        told += f", **{each['duplicates']} twice**"
    if each["wasted_per_success"]:
        told += f", {each['wasted_per_success']:.2f} wasted"
    return told


def _caf(told: Figures) -> str:
    from caf import DOCUMENT

    rows = [
        [
            name,
            row["runs"],
            f"{row['latency_s']} s ({DOCUMENT[name][0]})",
            f"{row['tokens']} ({DOCUMENT[name][1]})",
            f"{row['success']:.0%} ({DOCUMENT[name][2]})",
            f"{row['frequency']:.0%} ({DOCUMENT[name][3]})",
        ]
        for name, row in told["strategies"].items()
        if name in DOCUMENT
    ]
    columns = ["strategy", "runs", "latency", "tokens", "success", "frequency"]
    agents = [[name, *row.values()] for name, row in told["agents"].items()]
    names = list(next(iter(told["agents"].values())))
    parts = table(["part of the mixture", "CAF"], list(told["caf"].items()))
    shown = "Measured, with the document's statement (5.3) in brackets:"
    return "\n\n".join(
        [shown, table(columns, rows), parts, table(["agent", *names], agents)]
    )


def _tokens(told: Figures) -> str:
    sizes = list(told["clean"])
    parts = []
    for label, title in (("clean", "No faults"), ("faults", "Two faults")):
        names = list(told[label][sizes[0]])
        rows = [[n, *(_paid(told[label][s][n]) for s in sizes)] for n in names]
        floor = ["floor", *(told["floor"][size] for size in sizes)]
        parts += [title, table(["agent", *sizes], [floor, *rows])]
    grown = table(["agent", "exponent of growth"], list(told["growth"].items()))
    return "\n\n".join([*parts, grown])


def _paid(each: Figures) -> str:
    if not each["success"]:
        return f"failed ({each['error'][:40] or 'not done'})"
    price = f"{each['calls']} calls, {each['seconds']} s"
    return f"{each['tokens']} ({each['of_floor']:.2f} x, {price})"


def _overhead(told: Figures) -> str:
    rows = [
        [
            case["shape"],
            case["keeper"],
            case["steps"],
            *(_ms(case.get(n)) for n in OVERHEAD),
            *(_ratio(case.get(f"of_{n}")) for n in ("create_agent", "two_loops")),
            case["mendgraph"]["disk"] or "-",
        ]
        for case in told["cases"]
    ]
    columns = ["shape", "keeper", "steps", *OVERHEAD.values()]
    more = ["of create_agent", "of two empty loops", "bytes a step"]
    return table([*columns, *more], rows)


def _makespan(told: Figures) -> str:
    rows = [
        [
            name,
            *(
                f"{e['median']:.3f} ({e['low']:.3f} to {e['high']:.3f})"
                for e in row.values()
            ),
        ]
        for name, row in told["cases"].items()
    ]
    return table(["graph", "mendgraph", "waves of ready steps"], rows)


def _ms(each: Figures | None) -> str:
    return f"{each['wall_ms']:.2f} / {each['cpu_ms']:.2f}" if each else "-"


def _ratio(each: Figures | None) -> str:
    if not each:
        return "-"
    told = each["cpu_ms"]
    return f"{told['median']:.2f} ({told['low']:.2f} to {told['high']:.2f})"


def _state_size(told: Figures) -> str:
    rows = [[size, *row.values()] for size, row in told["sizes"].items()]
    shown = table(["steps", "checkpoint kB a step", "store kB a step"], rows)
    return f"{shown}\n\nSlope from {told['from']} steps on: {told['slope']}."


def _memory(told: Figures) -> str:
    rows = [
        [f"{told[n]['rows']:,}", f"{told[n]['peak_kb'] / 1_024:.0f} MB"]
        for n in ("few", "many")
    ]
    return f"{table(['rows', 'peak'], rows)}\n\nRatio: {told['ratio']}."


def _rollback(told: Figures) -> str:
    rows = [
        [
            back,
            f"{row['share']['median']:.1%} ({row['share']['high']:.1%} at most)",
            row["steps_again"],
            "yes" if row["equal"] else "NO",
        ]
        for back, row in told["backs"].items()
    ]
    columns = ["steps back", "price of a re-run", "steps run again", "state equal"]
    return f"Chain of {told['steps']} steps.\n\n{table(columns, rows)}"


def _latency(told: Figures) -> str:
    rows = [[n, f"{r['p50']:.2f}", f"{r['p99']:.2f}"] for n, r in told["ms"].items()]
    return table(["decision", "p50", "p99"], rows)


SECTIONS: Mapping[str, Callable[[Figures], str]] = {
    "recovery": _recovery,
    "caf": _caf,
    "tokens": _tokens,
    "makespan": _makespan,
    "overhead": _overhead,
    "state_size": _state_size,
    "memory": _memory,
    "rollback": _rollback,
    "latency": _latency,
}


def write_page(kept: Figures, drawn: Mapping[str, str], before: Figures) -> str:
    """Return the whole document.

    Args:
        kept: Figures of this run.
        drawn: Measure → file name of its plot.
        before: Figures of an older commit, taken with the scripts of today.
    """
    measures = kept["measures"]
    figures = {n: told["figures"] for n, told in measures.items() if "figures" in told}
    parts = [HEAD, _machine(kept["machine"]), _summary(figures)]
    parts += [changes(figures, before), losses(figures)]
    for name, section in SECTIONS.items():
        if name in figures:
            image = (
                f"\n\n![{TITLES[name]}](images/{drawn[name]})" if name in drawn else ""
            )
            body = section(figures[name])
            parts.append(f"## {TITLES[name]}\n\n{NOTES[name]}{image}\n\n{body}")
    parts += [brief(name, figures[name]) for name in BRIEFS if name in figures]
    parts.append(_commands(measures))
    return "\n\n".join(part for part in parts if part).replace("\n\n\n", "\n\n") + "\n"


def _machine(told: Figures) -> str:
    names = ", ".join(f"{k} {v}" for k, v in told["versions"].items())
    return (
        f"Taken on {told['date']}: {told['cores']} cores ({told['cpu']}), "
        f"{told['system']}, load {told['load'][0]} at the end. {names}."
    )


def _summary(figures: Mapping[str, Figures]) -> str:
    rows = [
        [t.what, t.wanted, t.found, "yes" if t.met else "**missed**"]
        for t in all_targets(figures)
    ]
    return f"## Targets\n\n{table(['measure', 'target', 'found', 'met'], rows)}"


def _commands(measures: Figures) -> str:
    rows = [
        [f"`{told['command']}`", f"{told['seconds']} s", told.get("problem", "")[:80]]
        for told in measures.values()
    ]
    return f"## Commands\n\n{table(['command', 'took', 'problem'], rows)}"
