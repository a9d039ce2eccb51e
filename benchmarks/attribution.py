"""How well are failures attributed, and what does verification spare (F29, F33)?

The labelled set of `mendgraph eval attribution`: 120 failures with injected causes.
"""

import json

from measure import quick_wanted, versions

from mendgraph.evals.attribution import evaluate, tables

QUICK = 24


def main() -> None:
    """Print the tables and end with one line of JSON."""
    from rich.console import Console

    report = evaluate(limit=QUICK if quick_wanted(__doc__) else None)
    console = Console()
    for table in tables(report):
        console.print(table)
    told = report["false_corrections"]
    figures = {
        "accuracy": report["accuracy"],
        "macro_f1": report["macro_f1"],
        "majority_macro_f1": report["baselines"]["majority"]["macro_f1"],
        "f1": {name: each["f1"] for name, each in report["categories"].items()},
        "false_corrections_without": told["without_verification"],
        "false_corrections_with": told["with_verification"],
        "right_ones_stopped": told["right_ones_stopped"],
        "causes_from": told["causes_from"],
        "n": report["n"],
        "versions": versions(),
    }
    print(json.dumps(figures, ensure_ascii=False))


if __name__ == "__main__":
    main()
