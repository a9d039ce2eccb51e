"""Constraints that code can check itself, recognised in a small closed grammar (F04).

A sentence must fit a pattern as a whole; everything else (conditions, exceptions, other
words) is left to the planner, who must answer it. So a word of negation alone never
makes a rule. English and Chinese.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from mendgraph.nodes.constraint_checks import CHECKS, Kind, Rule
from mendgraph.state.plan import Plan
from mendgraph.tools.registry import Registry

WORDS = (
    *("zero", "one", "two", "three", "four", "five"),
    *("six", "seven", "eight", "nine", "ten"),
)
NUMERALS = {word: number for number, word in enumerate(WORDS)} | {
    char: number for number, char in enumerate("零一二三四五六七八九十")
}
NUMERALS["两"] = 2
UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "秒": 1.0, "分": 60.0, "小": 3_600.0}
"""First character of a unit of time → seconds."""

NUM = rf"(?P<number>\d+(?:\.\d+)?|{'|'.join(NUMERALS)})"
TIME = rf"{NUM}\s*(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hours?)"
TIME_ZH = rf"{NUM}\s*个?\s*(?P<unit>秒钟?|分钟?|小时)"
MOST = r"(?:at most|max(?:imum)?(?: of)?|no more than|not more than|up to)"
MOST_ZH = r"(?:最多|至多|不超过|不多于|不能超过|不得超过|不要超过)"
NOT = r"(?:do not|don't|dont|never|must not|may not|cannot|can not)"
NOT_ZH = r"(?:禁止|不要|不得|不能|不允许|不可以|不可|别|勿)"
LEAD = (
    r"(?:(?:please|the|plan|task|whole|it|you|must|may|should|shall|have|has|only|use"
    r"|with|in|run|can|be|done|finish|finished|complete|completed|take|stay|steps?"
    r"|work)\s+)*"
)
LEAD_ZH = r"(?:请|必须|务必|只能|需要?|要|整个|任务|计划|方案|总共|应该?|是|为)*"
TOOL = "\x00"
"""Stands for one tool's name while a sentence is matched."""
TOOLS = rf"{TOOL}(?:\s*(?:,\s*and|,\s*or|,|、|and|or|和|或|与|及)\s*{TOOL})*"
THE = r"(?:the\s+)?(?:tools?\s+)?"
CALL = r"(?:use|using|call|calling|run|running|invoke|invoking)"
CALL_ZH = r"(?:使用|调用|执行|运行|用)?\s*(?:工具)?\s*"

GRAMMAR: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (
        Kind.MAX_STEPS,
        (
            rf"{LEAD}{MOST}\s+{NUM}\s+steps?(?:\s+(?:in total|overall))?",
            rf"{LEAD_ZH}{MOST_ZH}\s*{NUM}\s*个?\s*步骤?",
            rf"{LEAD_ZH}步骤(?:总?数量?)?{MOST_ZH}\s*{NUM}\s*[个步]?",
        ),
    ),
    (
        Kind.FORBIDDEN,
        (
            (
                rf"{LEAD}(?:{NOT}\s+{CALL}|avoid(?:\s+{CALL})?|without(?:\s+{CALL})?|no)"
                rf"\s+{THE}{TOOLS}(?:\s+tools?)?"
            ),
            rf"{TOOLS}\s+(?:is|are)\s+(?:forbidden|not allowed|banned|off limits)",
            rf"{LEAD_ZH}{NOT_ZH}\s*{CALL_ZH}{TOOLS}\s*(?:工具)?",
        ),
    ),
    (
        Kind.ONLY,
        (
            (
                rf"{LEAD}(?:use\s+only|only\s+{CALL}|only|nothing\s+but)\s+"
                rf"{THE}{TOOLS}(?:\s+tools?)?(?:\s+(?:may be used|(?:is|are) allowed))?"
            ),
            rf"{LEAD_ZH}[只仅](?:能|可以?|允许|准)?\s*{CALL_ZH}{TOOLS}\s*(?:工具)?",
        ),
    ),
    (
        Kind.MAX_PARALLEL,
        (
            (
                rf"{LEAD}{MOST}\s+{NUM}\s+(?:(?:steps?|calls?|tasks?|tools?)\s+)?"
                r"(?:in parallel|at once|at a time|at the same time"
                r"|(?:concurrent|parallel|simultaneous)(?:ly)?(?:\s+(?:steps?|calls?))?)"
            ),
            (
                rf"{LEAD}(?:everything\s+)?(?:sequential(?:ly)?|one (?:step )?at a time"
                r"|one after (?:the other|another)|no parallel(?:ism|\s+steps?)?)"
            ),
            (
                rf"{LEAD_ZH}{MOST_ZH}\s*{NUM}\s*[个路]?(?:步骤|任务|调用)?"
                r"(?:并行|并发|同时)(?:执行|运行|进行)?"
            ),
            rf"{LEAD_ZH}(?:并行|并发)[数度量]?{MOST_ZH}\s*{NUM}\s*个?",
            rf"{LEAD_ZH}(?:串行|依次|逐个|顺序)(?:执行|运行|进行)?",
        ),
    ),
    (
        Kind.DEADLINE,
        (
            (
                rf"{LEAD}(?:within|in under|in less than|in at most|under|less than"
                rf"|no longer than|{MOST})\s+{TIME}"
            ),
            rf"{LEAD_ZH}在?\s*{TIME_ZH}\s*[之以]?内\s*(?:完成|结束|做完|跑完)?",
            rf"{LEAD_ZH}总?(?:耗时|时间|用时|时长){MOST_ZH}\s*{TIME_ZH}",
        ),
    ),
    (
        Kind.BEFORE,
        (
            (
                rf"{LEAD}(?:always\s+)?(?:{CALL}\s+)?(?P<first>{TOOL})\s+"
                r"(?:(?:must|should|has to)\s+)?(?:be\s+)?"
                r"(?:(?:come|called|run|used|happen|go|executed)\s+)?"
                rf"before\s+(?:{CALL}\s+)?{TOOL}"
            ),
            (
                rf"{LEAD_ZH}先\s*{CALL_ZH}(?P<first>{TOOL})\s*[,\uff0c]?\s*(?:然后)?再\s*"
                rf"{CALL_ZH}{TOOL}"
            ),
            (
                rf"(?P<first>{TOOL})\s*(?:必须|要|需要)?在\s*{TOOL}\s*之?前"
                r"(?:执行|运行|调用)?"
            ),
        ),
    ),
    (
        Kind.BEFORE,
        (
            (
                rf"{LEAD}(?:{CALL}\s+)?(?P<last>{TOOL})\s+(?:(?:must|should|may)\s+)?"
                r"(?:be\s+)?(?:(?:come|called|run|used|happen|go|executed)\s+)?"
                rf"(?:only\s+)?after\s+(?:{CALL}\s+)?{TOOL}"
            ),
            (
                rf"{CALL_ZH}(?P<last>{TOOL})\s*之?前\s*[,\uff0c]?\s*(?:必须|要|需要|请)?先?\s*"
                rf"{CALL_ZH}{TOOL}"
            ),
        ),
    ),
    (
        Kind.READ_ONLY,
        (
            rf"{LEAD}read[- ]only(?:\s+(?:access|mode|tools|operations))?",
            (
                r"(?:no|without(?: any)?)\s+(?:writes?|writing|changes|modifications"
                r"|write (?:operations?|access|calls?|tools?)|side[- ]effects?)"
            ),
            (
                rf"{LEAD}{NOT}\s+(?:write|modify|change|alter)\s+"
                r"(?:anything|any data|the data|data)"
            ),
            rf"{LEAD_ZH}[只仅](?:能|可以?|允许|做)?读取?(?:操作|模式|工具|数据)?",
            (
                rf"{LEAD_ZH}{NOT_ZH}\s*(?:进行|有)?\s*(?:任何)?"
                r"(?:写入?操作|写入|(?:修改|改动|更改|写入?)(?:任何)?(?:数据|东西|内容))"
            ),
        ),
    ),
    (
        Kind.REVERSIBLE,
        (
            (
                rf"{LEAD}(?:no|without(?: any)?|avoid|{NOT}\s+(?:use|do|run|take))\s+"
                r"(?:any\s+)?irreversible"
                r"(?:\s+(?:actions?|steps?|operations?|calls?|tools?|effects?))?"
            ),
            (
                rf"{LEAD_ZH}{NOT_ZH}\s*(?:使用|执行|进行|有)?\s*(?:任何)?不可逆的?"
                r"(?:操作|步骤|动作|工具|副作用)?"
            ),
        ),
    ),
)
"""Kind → whole-sentence patterns. An order is told with the first or the last tool."""

_COMPILED = tuple(
    (kind, tuple(re.compile(p, re.IGNORECASE) for p in patterns))
    for kind, patterns in GRAMMAR
)
_SENTENCES = re.compile(r"[;\uff1b\u3002!\uff01\n]+|\.(?:\s|$)")
_QUOTES = re.compile(r"[`'\"\u201c\u201d\u2018\u2019\u300c\u300d\u300a\u300b]")
_EDGES = re.compile(r"^[\s,\uff0c]+|[\s,\uff0c]+$")
SEQUENTIAL = 1.0


def recognise(text: str, tools: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules that one constraint states.

    Args:
        text: The user's words.
        tools: Names of the tools there are; other names make no rule.

    Returns:
        One rule for each sentence, or none at all when any sentence is not understood.
    """
    names = sorted(tools, key=len, reverse=True)
    sentences = [_EDGES.sub("", part) for part in _SENTENCES.split(text)]
    rules = [_read(part, names) for part in sentences if part]
    known = [rule for rule in rules if rule is not None]
    return tuple(known) if len(known) == len(rules) else ()


def _read(sentence: str, names: Sequence[str]) -> Rule | None:
    plain = _QUOTES.sub("", sentence.replace("don't", "do not")).strip()
    marked, found = _mark(plain, names)
    for kind, patterns in _COMPILED:
        for pattern in patterns:
            for words in (marked, plain):
                if match := pattern.fullmatch(words):
                    return _rule(kind, match, found, sentence)
    return None


def _mark(sentence: str, names: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Put the placeholder for every tool's name; return also the names, in order."""
    if not names:
        return sentence, ()
    inner = "|".join(re.escape(name) for name in names)
    pattern = re.compile(rf"(?<![A-Za-z0-9_-])(?:{inner})(?![A-Za-z0-9_-])")
    return pattern.sub(TOOL, sentence), tuple(pattern.findall(sentence))


def _rule(
    kind: Kind, match: re.Match[str], found: tuple[str, ...], text: str
) -> Rule | None:
    groups: Mapping[str, str | None] = match.groupdict()
    number = _number(groups.get("number"))
    unit = groups.get("unit")
    seconds = UNITS[unit[0].lower()] if unit else 1.0
    tools = found if TOOL in match.string else ()
    if groups.get("last"):
        tools = tools[::-1]
    value = SEQUENTIAL if number is None else number * seconds
    return Rule(kind=kind, text=text, number=value, tools=tools)


def _number(word: str | None) -> float | None:
    if word is None:
        return None
    known = NUMERALS.get(word.lower())
    return float(word) if known is None else float(known)


def violations(rules: Iterable[Rule], plan: Plan, registry: Registry) -> list[str]:
    """Return what a plan does against rules, a sentence each."""
    return [
        f"constraint {rule.text!r}: {problem}"
        for rule in rules
        for problem in CHECKS[rule.kind](rule, plan, registry)
    ]


def judge(
    constraints: Sequence[str],
    answers: Mapping[str, str],
    plan: Plan,
    registry: Registry,
) -> tuple[dict[str, str], list[str], list[str]]:
    """Hold a plan against every constraint, one by one.

    Args:
        constraints: The user's words.
        answers: What the planner said to each, by its name `c1`, `c2`, … or its words.
        plan: The proposed plan, sound in structure.
        registry: The tools there are.

    Returns:
        Answer by constraint, violations, and constraints without an answer.
    """
    said: dict[str, str] = {}
    broken: list[str] = []
    silent: list[str] = []
    for number, text in enumerate(constraints, start=1):
        rules = recognise(text, registry.names)
        found = violations(rules, plan, registry)
        broken += found
        answer = (answers.get(f"c{number}") or answers.get(text) or "").strip()
        checked = "checked by code: " + ", ".join(rule.kind for rule in rules)
        said[text] = "; ".join(
            part for part in (answer, checked if rules else "") if part
        )
        if not rules and not answer:
            silent.append(f"c{number}: {text}")
    return said, broken, silent
