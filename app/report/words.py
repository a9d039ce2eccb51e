"""Numbers and times as people read them."""

from datetime import UTC, datetime

from rich.cells import cell_len, set_cell_size

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
SHORT = 10.0


def duration(seconds: float) -> str:
    """Return a length of time in the two largest units, such as `2 min 5 s`."""
    if seconds < 0.9995:  # noqa: PLR2004 (what rounds to 1000 ms is 1.0 s)
        return f"{round(seconds * 1_000)} ms"
    if seconds < SHORT:
        return f"{seconds:.1f} s"
    if round(seconds) < MINUTE:
        return f"{round(seconds)} s"
    return _two_units(round(seconds))


def marked(seconds: float) -> str:
    """Return a moment on an axis; neighbours never look the same."""
    if seconds < 0.9995 or seconds >= MINUTE:  # noqa: PLR2004 (as above)
        return duration(seconds)
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"


def _two_units(seconds: int) -> str:
    for size, name, smaller, smaller_name in (
        (int(DAY), "d", int(HOUR), "h"),
        (int(HOUR), "h", int(MINUTE), "min"),
        (int(MINUTE), "min", 1, "s"),
    ):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {name}" + (
                f" {rest} {smaller_name}" if rest else ""
            )
    return f"{seconds} s"


def moment(seconds: float) -> str:
    """Return a point in time as UTC to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(count: int, noun: str) -> str:
    """Return `1 step`, `2 steps`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(value: float) -> str:
    """Return a number with thousands separators and at most one decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def phrase(name: str) -> str:
    """Return an identifier as words: `local_replan` → `local replan`."""
    return name.replace("_", " ")


def fit(text: str, cells: int) -> str:
    """Return the text in at most `cells` columns; wide characters count two."""
    line = " ".join(text.split())
    if cell_len(line) <= cells:
        return line
    return set_cell_size(line, max(0, cells - 1)).rstrip() + "…"


def cells(text: str) -> int:
    """Return how many columns a text takes; wide characters count two."""
    return cell_len(text)
