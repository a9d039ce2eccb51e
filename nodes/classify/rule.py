"""What a rule is, and the predicates and verdicts the tables are written in."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from mendgraph.state.failure import (
    Category,
    FailureFacts,
    Layer,
    Reaction,
    Subclass,
)


@dataclass(frozen=True)
class Seen:
    """The facts with what the predicates need of them, computed once."""

    facts: FailureFacts

    @cached_property
    def text(self) -> str:
        """Message and beginning of the body, as one text."""
        whole = f"{self.facts.message}\n{self.facts.body_head or ''}"
        whole = _LONG_WORD.sub(lambda match: match[0][:40], whole)
        half = LONGEST_TEXT // 2
        return whole if len(whole) <= LONGEST_TEXT else whole[:half] + whole[-half:]

    @cached_property
    def lowered(self) -> str:
        """The text in lower case, which patterns are searched in."""
        return self.text.lower()

    @cached_property
    def known(self) -> dict[re.Pattern[str], bool]:
        """Answers given so far: rules of one family ask the same question."""
        return {}

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether the lowered text matches, remembering the answer."""
        if pattern not in self.known:
            self.known[pattern] = pattern.search(self.lowered) is not None
        return self.known[pattern]

    @cached_property
    def names(self) -> frozenset[str]:
        """Bare names of the exceptions in the chain and of the outermost's bases."""
        bare = (name.rsplit(".", 1)[-1] for name in self.facts.exceptions)
        return frozenset((*bare, *self.facts.bases))

    @cached_property
    def modules(self) -> str:
        """The dotted names, joined, to look for a package in."""
        return " ".join(self.facts.exceptions)


_NEAR = ".{0,160}"
"""What `.*` stands for in a pattern: an unbounded gap costs quadratic time."""
_ESCAPE_OR_CAPITAL = re.compile(r"\\.|[A-Z]")
_LONG_WORD = re.compile(r"\w{80,}")
"""Encoded data; no pattern needs it and some would crawl over it."""
LONGEST_TEXT = 2_500
"""Patterns look at the beginning of longer messages, and at the end."""

Predicate = Callable[[Seen], bool]


@dataclass(frozen=True)
class Verdict:
    """A class and its reaction, named once and used by many rules."""

    category: Category
    subclass: Subclass
    reaction: Reaction
    transient: bool = False


@dataclass(frozen=True)
class Rule:
    """When `when` holds the failure is of class `verdict`."""

    name: str
    when: Predicate
    verdict: Verdict
    confidence: float = 0.9
    wait_s: float | None = None
    """Shortest useful wait in seconds where the failure states none."""


def says(pattern: str) -> Predicate:
    """Tell whether message or body matches, whatever the case."""
    bounded = pattern.replace(".*", _NEAR)
    lowered = _ESCAPE_OR_CAPITAL.sub(lambda match: _lowered(match[0]), bounded)
    compiled = re.compile(lowered, re.DOTALL)
    return lambda seen: seen.matches(compiled)


def _lowered(part: str) -> str:
    return part if part.startswith("\\") else part.lower()


def status(*codes: int) -> Predicate:
    """Tell whether the HTTP status is one of these."""
    wanted = frozenset(codes)
    return lambda seen: seen.facts.http_status in wanted


def named(*names: str) -> Predicate:
    """Tell whether an exception of the chain (or a base of it) has one of the names."""
    wanted = frozenset(names)
    return lambda seen: not wanted.isdisjoint(seen.names)


def package(*names: str) -> Predicate:
    """Tell whether an exception comes from one of the packages."""
    compiled = re.compile(rf"(?:^| )(?:{'|'.join(names)})\b")
    return lambda seen: compiled.search(seen.modules) is not None


def code(*codes: str) -> Predicate:
    """Tell whether the vendor's error code or type is one of these."""
    wanted = frozenset(codes)
    return lambda seen: (
        seen.facts.error_code in wanted or seen.facts.error_type in wanted
    )


def family(*names: str) -> Predicate:
    """Tell whether the error code belongs to one of the protocols."""
    return lambda seen: seen.facts.family in names


def errno_in(*numbers: int) -> Predicate:
    """Tell whether the operating system's error number is one of these."""
    wanted = frozenset(numbers)
    return lambda seen: seen.facts.errno in wanted


def state_in(*prefixes: str) -> Predicate:
    """Tell whether the SQLSTATE is one of these or of one of these classes."""
    return lambda seen: (seen.facts.sqlstate or "").startswith(prefixes)


def exits(*codes: int) -> Predicate:
    """Tell whether the process ended with one of these codes."""
    wanted = frozenset(codes)
    return lambda seen: seen.facts.exit_code in wanted


def layer(*layers: Layer) -> Predicate:
    """Tell whether the failure was raised in one of the layers."""
    return lambda seen: seen.facts.layer in layers


def every(*parts: Predicate) -> Predicate:
    """Tell whether all parts hold."""
    return lambda seen: all(part(seen) for part in parts)


def some(*parts: Predicate) -> Predicate:
    """Tell whether one of the parts holds."""
    return lambda seen: any(part(seen) for part in parts)


def none_of(*parts: Predicate) -> Predicate:
    """Tell whether no part holds."""
    return lambda seen: not any(part(seen) for part in parts)


_ENV, _EXE = Category.ENVIRONMENT, Category.EXECUTION
_PLAN, _ASK = Category.PLAN, Category.REQUIREMENT

RATE = Verdict(_ENV, Subclass.RATE_LIMITED, Reaction.BACKOFF, transient=True)
QUOTA = Verdict(_ENV, Subclass.QUOTA_EXHAUSTED, Reaction.ASK_USER)
DENIED = Verdict(_ENV, Subclass.PERMISSION_DENIED, Reaction.ASK_USER)
BLOCKED = Verdict(_ENV, Subclass.PERMISSION_DENIED, Reaction.FALLBACK)
RENEW = Verdict(
    _ENV, Subclass.PERMISSION_DENIED, Reaction.RECONNECT_RETRY, transient=True
)
NETWORK = Verdict(_ENV, Subclass.NETWORK_ERROR, Reaction.BACKOFF, transient=True)
RECONNECT = Verdict(
    _ENV, Subclass.NETWORK_ERROR, Reaction.RECONNECT_RETRY, transient=True
)
SLOW = Verdict(_ENV, Subclass.NETWORK_ERROR, Reaction.ADJUST_PARAMS, transient=True)
UNREACHED = Verdict(_ENV, Subclass.NETWORK_ERROR, Reaction.PROBE_FIRST, transient=True)
UNTRUSTED = Verdict(_ENV, Subclass.NETWORK_ERROR, Reaction.ASK_USER)
DOWN = Verdict(_ENV, Subclass.SERVICE_UNAVAILABLE, Reaction.BACKOFF, transient=True)
BROKEN_SERVICE = Verdict(_ENV, Subclass.SERVICE_UNAVAILABLE, Reaction.ASK_USER)
REDIRECTED = Verdict(
    _ENV, Subclass.SERVICE_UNAVAILABLE, Reaction.RECONNECT_RETRY, transient=True
)
CONFLICT = Verdict(_ENV, Subclass.DATA_CHANGED, Reaction.BACKOFF, transient=True)
STALE = Verdict(_ENV, Subclass.DATA_CHANGED, Reaction.PROBE_FIRST)
CHANGED = Verdict(_ENV, Subclass.DATA_CHANGED, Reaction.REPLAN)
BAD_ARGS = Verdict(_EXE, Subclass.PARAM_ERROR, Reaction.ADJUST_PARAMS)
PROBE_ARGS = Verdict(_EXE, Subclass.PARAM_ERROR, Reaction.PROBE_FIRST)
OTHER_FORM = Verdict(_EXE, Subclass.PARAM_ERROR, Reaction.FALLBACK)
INCAPABLE = Verdict(_EXE, Subclass.CAPABILITY_MISSING, Reaction.ADJUST_PARAMS)
UNPARSED = Verdict(_EXE, Subclass.PARSE_ERROR, Reaction.ADJUST_PARAMS)
EXHAUSTED = Verdict(_EXE, Subclass.RESOURCE_EXHAUSTED, Reaction.ADJUST_PARAMS)
FULL_HERE = Verdict(_EXE, Subclass.RESOURCE_EXHAUSTED, Reaction.NO_RETRY)
FULL_THERE = Verdict(_EXE, Subclass.RESOURCE_EXHAUSTED, Reaction.ASK_USER)
CROWDED = Verdict(
    _EXE, Subclass.RESOURCE_EXHAUSTED, Reaction.ADJUST_PARAMS, transient=True
)
CRASHED = Verdict(_EXE, Subclass.TOOL_EXCEPTION, Reaction.FALLBACK)
FAULTY = Verdict(_EXE, Subclass.TOOL_EXCEPTION, Reaction.ADJUST_PARAMS)
FOLLOW_UP = Verdict(_EXE, Subclass.TOOL_EXCEPTION, Reaction.PROBE_FIRST)
UNSURE = Verdict(_EXE, Subclass.TOOL_EXCEPTION, Reaction.PROBE_FIRST)
UNMET = Verdict(_PLAN, Subclass.PRECONDITION_ERROR, Reaction.REPLAN)
MISORDERED = Verdict(_PLAN, Subclass.ORDER_ERROR, Reaction.REPLAN)
GAP = Verdict(_PLAN, Subclass.MISSING_STEP, Reaction.REPLAN)
COARSE = Verdict(_PLAN, Subclass.TOO_COARSE, Reaction.REPLAN)
AMBIGUOUS = Verdict(_ASK, Subclass.AMBIGUOUS, Reaction.ASK_USER)
UNMEASURED = Verdict(_ASK, Subclass.MISSING_CONSTRAINT, Reaction.ASK_USER)
DRIFTED = Verdict(_ASK, Subclass.DRIFT, Reaction.ASK_USER)
CLASHING = Verdict(_ASK, Subclass.CONFLICTING, Reaction.ASK_USER)
OURS = Verdict(Category.INTERNAL, Subclass.INTERNAL_ERROR, Reaction.NO_RETRY)
STOPPED = Verdict(Category.NONE, Subclass.CANCELLED, Reaction.NO_RETRY)
FINE = Verdict(Category.NONE, Subclass.NOT_AN_ERROR, Reaction.TREAT_AS_SUCCESS)
PENDING = Verdict(
    Category.NONE, Subclass.NOT_AN_ERROR, Reaction.PROBE_FIRST, transient=True
)
NO_FAULT = Verdict(Category.NONE, Subclass.NOT_AN_ERROR, Reaction.NO_RETRY)
