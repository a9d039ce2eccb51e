"""The page of promises is true about what exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "FEATURES.md").read_text(encoding="utf-8")


def rows():
    return re.findall(r"^\| (F\d\d) \|(.+)\|(.+)\|(.+)\|$", PAGE, re.MULTILINE)


def test_every_promise_has_a_line():
    """All 74 numbers are there once, in order."""
    assert [f"F{n:02d}" for n in range(1, 75)] == [row[0] for row in rows()]


def test_every_named_file_exists():
    """Modules, tests and benchmarks that the page names exist."""
    missing = []
    for number, _, where, shown in rows():
        folder = ""
        for name in re.findall(r"`([^`]+)`", where + shown):
            if " " in name or name.startswith("/"):
                continue
            folder = name.rsplit("/", 1)[0] if "/" in name else folder
            path = name if "/" in name or not folder else f"{folder}/{name}"
            if not list(ROOT.glob(path)):
                missing.append(f"{number}: {path}")
    assert missing == []
