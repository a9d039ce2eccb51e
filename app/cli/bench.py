"""`mendgraph bench`: the benchmarks' tasks with your own model and key."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mendgraph.cli.faults import WrongUse
from mendgraph.cli.options import AsJson
from mendgraph.cli.output import print_json

if TYPE_CHECKING:
    from mendgraph.bench.cases import Case
    from mendgraph.bench.live import Cap, Ran

TOKENS = 200_000

Live = Annotated[
    str | None,
    typer.Option(
        "--live", metavar="MODEL", help="Your model, such as deepseek:deepseek-flash."
    ),
]
CapMoney = Annotated[
    float | None,
    typer.Option("--cap", min=0.0, help="Most money to spend; needs --prices."),
]
Prices = Annotated[
    str | None,
    typer.Option(
        "--prices",
        metavar="IN,OUT",
        help="Price of a million prompt and a million completion tokens.",
    ),
]
CapTokens = Annotated[
    int, typer.Option("--cap-tokens", min=1, help="Most tokens to use, both kinds.")
]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Runs of each fault.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="GROUP", help="Faults to run; repeat for more."),
]


def bench(
    live: Live = None,
    cap: CapMoney = None,
    prices: Prices = None,
    cap_tokens: CapTokens = TOKENS,
    runs: Runs = 1,
    only: Only = None,
    as_json: AsJson = False,
) -> None:
    """Run the benchmarks' tasks with your own model, under a cap.

    The world, its tools and their faults are simulated; the model and what it costs
    are real. Without --live there is nothing to run here: the benchmarks beside other
    agents are `make bench` in the project's repository.
    """
    if live is None:
        raise WrongUse(
            "name your model, such as --live deepseek:deepseek-flash; the benchmarks "
            "with the simulated model are `make bench` in the project's repository"
        )
    from mendgraph.bench.live import LEAST, Cap, NoAnswer, run_all, summary
    from mendgraph.tools.models.factory import open_model

    limit = Cap(cap_tokens, cap, _prices(prices, cap))
    chosen = _chosen(runs, only)
    if (left := limit.left(0, 0)) < LEAST:
        raise WrongUse(f"the cap is {left} tokens; one task needs about {LEAST}")
    model = open_model(live)
    if model is None:
        raise WrongUse(f"{live!r} is no model")
    done: list[Ran] = []
    try:
        for ran in run_all(model, chosen, limit):
            done.append(ran)  # what was run is not lost when the rest is not
            if not as_json:
                _tell(ran)
    except NoAnswer as error:
        raise WrongUse(f"{error}; check the model's name and its key") from error
    finally:
        if done:
            figures = {"model": live, **summary(done, len(chosen), limit)}
            _print(figures, limit, as_json)


def _prices(given: str | None, cap: float | None) -> tuple[float, float] | None:
    if given is None:
        if cap is not None:
            raise WrongUse(
                "--cap counts money, so the prices must be known: add --prices IN,OUT "
                "(a million prompt tokens, a million completion tokens), or cap the "
                "tokens with --cap-tokens"
            )
        return None
    try:
        prompt, completion = map(float, given.split(","))
    except ValueError as error:
        raise WrongUse(f"--prices {given}: give two numbers, as in 0.3,1.2") from error
    if min(prompt, completion) < 0 or not prompt + completion:
        raise WrongUse(f"--prices {given}: prices are not negative, and not both zero")
    return prompt, completion


def _chosen(runs: int, only: list[str] | None) -> "list[Case]":
    from mendgraph.bench.live import grid

    every = grid(runs)
    known = list(dict.fromkeys(case.group for case in every))
    unknown = [name for name in only or () if name not in known]
    if unknown:
        listed = ", ".join(known)
        raise WrongUse(f"no faults are called {unknown[0]!r}; there are: {listed}")
    return [case for case in every if not only or case.group in only]


def _tell(ran: "Ran") -> None:
    mark = "ok " if ran.success else "LIE" if ran.false_success else "no "
    used, case = ran.prompt + ran.completion, ran.case
    typer.echo(f"{mark} {case.group:<20} {case.task.name:<12} {used} tokens")


def _print(figures: Mapping[str, Any], cap: "Cap", as_json: bool) -> None:
    if as_json:
        print_json(dict(figures))
        return
    from rich.console import Console
    from rich.table import Table

    columns = ("faults", "runs", "success", "false", "twice", "calls", "tokens", "cost")
    table = Table(*columns, title=f"{figures['model']} in the simulated world")
    for name, row in {**figures["groups"], "all": figures["all"]}.items():
        table.add_row(*_row(name, row))
    Console().print(table)
    if figures["stopped_at_the_cap"]:
        left = f"{figures['run']} of {figures['tasks']} tasks were run"
        money = f" or {cap.money:g}" if cap.money is not None else ""
        typer.echo(f"Stopped: {left}, the cap is {cap.tokens} tokens{money}.")


def _row(name: str, row: Mapping[str, Any]) -> list[str]:
    tokens = row["prompt_tokens"] + row["completion_tokens"]
    cost = "-" if row["cost"] is None else f"{row['cost']:.4f}"
    counts = (row["false_success"], row["duplicates"], row["model_calls"], tokens)
    return [name, str(row["runs"]), f"{row['success']:.0%}", *map(str, counts), cost]
