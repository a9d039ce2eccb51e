"""Faults in what was asked for: text of a person, not of a machine.

General marks only: two demands that exclude each other, a destructive wish with several
candidates, a question taken for a command, a wish without measure, a goal left behind.
"""

from mendgraph.nodes.classify.clashes import (
    forbids_and_demands_one_thing,
    impossible_range,
    opposed_clauses,
    opposite_verbs_on_one_thing,
    short_and_complete,
)
from mendgraph.nodes.classify.rule import (
    AMBIGUOUS,
    CLASHING,
    DRIFTED,
    UNMEASURED,
    Rule,
    every,
    none_of,
    says,
    some,
)
from mendgraph.nodes.classify.wishes import (
    ACTION,
    BARE_TASK,
    BROKEN_PROMISE,
    CHANGED_MIND,
    LACKS_VALUE,
    MEASURED,
    QUESTION,
    SEVERAL,
    VAGUE_MEASURE,
    VAGUE_THING,
    WANDERED,
    is_technical,
)

RULES: tuple[Rule, ...] = tuple(
    Rule(name, every(none_of(is_technical), when), verdict, confidence)
    for name, when, verdict, confidence in (
        (
            "what is done has left the goal",
            some(every(BROKEN_PROMISE, WANDERED), says(r"goal drift|scope creep|偏离")),
            DRIFTED,
            0.75,
        ),
        ("the wish has changed under way", CHANGED_MIND, DRIFTED, 0.7),
        (
            "two demands exclude each other",
            some(
                opposed_clauses,
                opposite_verbs_on_one_thing,
                short_and_complete,
                impossible_range,
                says(
                    r"contradict|mutually exclusive|conflicting (?:demand|require"
                    r"|instruct"
                    r"|constraint|goal)|cannot both|incompatible (?:demand|require)"
                    r"|矛盾|冲突"
                ),
            ),
            CLASHING,
            0.75,
        ),
        (
            "a question is no command",
            every(QUESTION, ACTION),
            AMBIGUOUS,
            0.75,
        ),
        (
            "an effect is wished, and several things may be meant",
            every(ACTION, SEVERAL),
            AMBIGUOUS,
            0.75,
        ),
        (
            "what is forbidden is demanded beside it",
            forbids_and_demands_one_thing,
            CLASHING,
            0.6,
        ),
        ("it is open which thing is meant", BARE_TASK, AMBIGUOUS, 0.65),
        (
            "it is open which thing is meant",
            every(ACTION, VAGUE_THING),
            AMBIGUOUS,
            0.65,
        ),
        (
            "several things may be meant",
            says(
                r"ambiguous|unclear (?:which|what)|could mean"
                r"|two (?:possible )?meanings|歧义|不明确"
            ),
            AMBIGUOUS,
            0.7,
        ),
        (
            "a wish without measure",
            every(VAGUE_MEASURE, none_of(says(r"\d"))),
            UNMEASURED,
            0.65,
        ),
        (
            "a wish without the values it needs",
            every(LACKS_VALUE, none_of(MEASURED)),
            UNMEASURED,
            0.6,
        ),
        (
            "a constraint is not named",
            says(
                r"(?:no|without|missing|unspecified|not (?:specified|given"
                r"|stated)).{0,40}(?:deadline"
                r"|budget|limit|format|range|date|scope|measure|criteria|constraint"
                r"|threshold)"
                r"|未(?:指定|说明|给出)|没有(?:说|给|指定)"
            ),
            UNMEASURED,
            0.65,
        ),
        ("it is open which thing is meant", VAGUE_THING, AMBIGUOUS, 0.6),
    )
)
