"""Each family of failures, walked through its own specification."""

import errno
import os
from http import HTTPStatus

import pytest

from mendgraph.nodes.classify import SURE, classify
from mendgraph.nodes.classify.decide import RULES
from mendgraph.state.failure import Category, FailureFacts, Layer, Reaction, Subclass
from mendgraph.tools.facts import from_text
from mendgraph.tools.facts_patterns import GRPC_CODES
from mendgraph.tools.sqlstates import SQLSTATE_OF

ENV, EXE, PLAN = Category.ENVIRONMENT, Category.EXECUTION, Category.PLAN


def of(**facts):
    return classify(FailureFacts(**facts))


@pytest.mark.parametrize("status", [s for s in HTTPStatus if s >= 300])
def test_every_http_status_is_known(status):
    """No registered status from 300 on leaves the rules unsure."""
    assert of(http_status=status, message=f"HTTP {status}").confidence >= SURE


@pytest.mark.parametrize("status", [*range(500, 600)])
def test_a_server_fault_is_never_the_steps_parameter(status):
    """5xx is the environment, but for what the server does not offer or hold."""
    found = of(http_status=status, message="x")
    exceptions = {501, 505, 506, 507, 510}
    assert (found.category is ENV) == (status not in exceptions or status == 511)


@pytest.mark.parametrize(
    ("status", "subclass", "transient"),
    [
        (401, Subclass.PERMISSION_DENIED, False),
        (402, Subclass.QUOTA_EXHAUSTED, False),
        (403, Subclass.PERMISSION_DENIED, False),
        (404, Subclass.PARAM_ERROR, False),
        (408, Subclass.NETWORK_ERROR, True),
        (409, Subclass.DATA_CHANGED, False),
        (410, Subclass.DATA_CHANGED, False),
        (413, Subclass.RESOURCE_EXHAUSTED, False),
        (422, Subclass.PARAM_ERROR, False),
        (423, Subclass.SERVICE_UNAVAILABLE, True),
        (429, Subclass.RATE_LIMITED, True),
        (500, Subclass.SERVICE_UNAVAILABLE, True),
        (501, Subclass.CAPABILITY_MISSING, False),
        (503, Subclass.SERVICE_UNAVAILABLE, True),
        (507, Subclass.RESOURCE_EXHAUSTED, False),
        (529, Subclass.SERVICE_UNAVAILABLE, True),
    ],
)
def test_http_statuses_have_their_class(status, subclass, transient):
    """The status alone decides when nothing else is said."""
    found = of(http_status=status, message="x")
    assert (subclass, transient) == (found.subclass, found.transient)


@pytest.mark.parametrize(("name", "state"), sorted(SQLSTATE_OF.items()))
def test_every_sqlstate_is_known(name, state):
    """Each of PostgreSQL's codes has a rule, found by the exception's name too."""
    found = of(sqlstate=state, message="x")
    assert found.confidence >= SURE
    by_name = classify(from_text(f"psycopg.errors.{name}: x"))
    assert found.subclass is by_name.subclass


@pytest.mark.parametrize(
    ("state", "subclass", "reaction"),
    [
        ("08006", Subclass.NETWORK_ERROR, Reaction.RECONNECT_RETRY),
        ("0A000", Subclass.CAPABILITY_MISSING, Reaction.ADJUST_PARAMS),
        ("22P02", Subclass.PARAM_ERROR, Reaction.ADJUST_PARAMS),
        ("23505", Subclass.PARAM_ERROR, Reaction.PROBE_FIRST),
        ("23503", Subclass.PARAM_ERROR, Reaction.ADJUST_PARAMS),
        ("28P01", Subclass.PERMISSION_DENIED, Reaction.ASK_USER),
        ("3D000", Subclass.PRECONDITION_ERROR, Reaction.REPLAN),
        ("40001", Subclass.DATA_CHANGED, Reaction.BACKOFF),
        ("40P01", Subclass.SERVICE_UNAVAILABLE, Reaction.BACKOFF),
        ("42501", Subclass.PERMISSION_DENIED, Reaction.ASK_USER),
        ("42703", Subclass.DATA_CHANGED, Reaction.REPLAN),
        ("42601", Subclass.PARAM_ERROR, Reaction.ADJUST_PARAMS),
        ("53100", Subclass.RESOURCE_EXHAUSTED, Reaction.ASK_USER),
        ("53300", Subclass.SERVICE_UNAVAILABLE, Reaction.BACKOFF),
        ("55P03", Subclass.SERVICE_UNAVAILABLE, Reaction.BACKOFF),
        ("57014", Subclass.RESOURCE_EXHAUSTED, Reaction.ADJUST_PARAMS),
        ("57P01", Subclass.NETWORK_ERROR, Reaction.RECONNECT_RETRY),
        ("57P03", Subclass.SERVICE_UNAVAILABLE, Reaction.BACKOFF),
    ],
)
def test_sqlstates_have_their_class(state, subclass, reaction):
    """Specific codes win over their class."""
    found = of(sqlstate=state, message="x")
    assert (subclass, reaction) == (found.subclass, found.reaction)


@pytest.mark.parametrize("name", GRPC_CODES[1:])
def test_every_grpc_code_is_known_in_every_spelling(name):
    """Python, Go and JavaScript write the codes differently."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    number = GRPC_CODES.index(name)
    texts = (
        f"status = StatusCode.{name}, details = x",
        f"rpc error: code = {camel} desc = x",
        f"Error: {number} {name}: x",
    )
    rules = {classify(from_text(text)).rule for text in texts}
    assert len(rules) == 1
    assert rules.pop().startswith("gRPC: ")


@pytest.mark.parametrize(
    ("name", "subclass"),
    [
        ("ENOSPC", Subclass.RESOURCE_EXHAUSTED),
        ("EMFILE", Subclass.RESOURCE_EXHAUSTED),
        ("EACCES", Subclass.PERMISSION_DENIED),
        ("EROFS", Subclass.PERMISSION_DENIED),
        ("ENOENT", Subclass.PRECONDITION_ERROR),
        ("EEXIST", Subclass.PARAM_ERROR),
        ("EISDIR", Subclass.PARAM_ERROR),
        ("EADDRINUSE", Subclass.SERVICE_UNAVAILABLE),
        ("ECONNREFUSED", Subclass.NETWORK_ERROR),
        ("ECONNRESET", Subclass.NETWORK_ERROR),
        ("EPIPE", Subclass.NETWORK_ERROR),
        ("ETIMEDOUT", Subclass.NETWORK_ERROR),
        ("EHOSTUNREACH", Subclass.NETWORK_ERROR),
        ("EIO", Subclass.SERVICE_UNAVAILABLE),
        ("ESTALE", Subclass.DATA_CHANGED),
    ],
)
def test_errnos_have_their_class(name, subclass):
    """By number, and by the words the system has for it."""
    number = getattr(errno, name)
    assert of(errno=number, message="x").subclass is subclass
    spoken = classify(from_text(f"OSError: [Errno {number}] {os.strerror(number)}"))
    assert spoken.subclass is subclass


@pytest.mark.parametrize(
    ("command", "code", "subclass"),
    [
        ("grep", 1, Subclass.NOT_AN_ERROR),
        ("diff", 1, Subclass.NOT_AN_ERROR),
        ("/usr/bin/cmp", 1, Subclass.NOT_AN_ERROR),
        ("grep", 2, Subclass.PARAM_ERROR),
        ("pytest", 5, Subclass.NOT_AN_ERROR),
        ("robocopy", 3, Subclass.NOT_AN_ERROR),
        ("curl", 6, Subclass.PARAM_ERROR),
        ("curl", 28, Subclass.NETWORK_ERROR),
        ("ssh", 255, Subclass.NETWORK_ERROR),
        ("foo", 126, Subclass.PERMISSION_DENIED),
        ("foo", 127, Subclass.PRECONDITION_ERROR),
        ("foo", 124, Subclass.NETWORK_ERROR),
        ("foo", 130, Subclass.CANCELLED),
        ("foo", 137, Subclass.RESOURCE_EXHAUSTED),
        ("foo", -9, Subclass.RESOURCE_EXHAUSTED),
        ("foo", 139, Subclass.TOOL_EXCEPTION),
        ("foo", 1, Subclass.TOOL_EXCEPTION),
        ("foo", 0, Subclass.NOT_AN_ERROR),
    ],
)
def test_exit_codes_are_read_per_command(command, code, subclass):
    """One means no for grep and trouble for others."""
    assert of(exit_code=code, command=command, message="x").subclass is subclass


@pytest.mark.parametrize(
    ("code", "subclass", "transient"),
    [
        ("ThrottlingException", Subclass.RATE_LIMITED, True),
        ("SlowDown", Subclass.RATE_LIMITED, True),
        ("ServiceQuotaExceededException", Subclass.QUOTA_EXHAUSTED, False),
        ("AccessDenied", Subclass.PERMISSION_DENIED, False),
        ("ExpiredToken", Subclass.PERMISSION_DENIED, False),
        ("NoSuchKey", Subclass.PARAM_ERROR, False),
        ("ValidationException", Subclass.PARAM_ERROR, False),
        ("InternalError", Subclass.SERVICE_UNAVAILABLE, True),
        ("RequestTimeout", Subclass.NETWORK_ERROR, True),
        ("ConditionalCheckFailedException", Subclass.DATA_CHANGED, False),
        ("EntityTooLarge", Subclass.RESOURCE_EXHAUSTED, False),
    ],
)
def test_aws_codes_have_their_class(code, subclass, transient):
    """By the code in the message, whatever the service."""
    text = f"An error occurred ({code}) when calling the X operation: y"
    found = classify(from_text(text))
    assert (subclass, transient) == (found.subclass, found.transient)


@pytest.mark.parametrize(
    ("text", "subclass"),
    [
        (
            "LOADING Redis is loading the dataset in memory",
            Subclass.SERVICE_UNAVAILABLE,
        ),
        (
            "READONLY You can't write against a read only replica",
            Subclass.SERVICE_UNAVAILABLE,
        ),
        ("MOVED 3999 127.0.0.1:6381", Subclass.SERVICE_UNAVAILABLE),
        ("OOM command not allowed when used memory", Subclass.RESOURCE_EXHAUSTED),
        ("WRONGTYPE Operation against a key", Subclass.PARAM_ERROR),
        ("NOAUTH Authentication required.", Subclass.PERMISSION_DENIED),
        ("NOSCRIPT No matching script", Subclass.PRECONDITION_ERROR),
        ("kafka.errors.NoBrokersAvailable", Subclass.NETWORK_ERROR),
        ("KafkaError{code=LEADER_NOT_AVAILABLE}", Subclass.SERVICE_UNAVAILABLE),
        ("KafkaError{code=UNKNOWN_TOPIC_OR_PART}", Subclass.PRECONDITION_ERROR),
        ("KafkaError{code=TOPIC_AUTHORIZATION_FAILED}", Subclass.PERMISSION_DENIED),
        ("kafka.errors.MessageSizeTooLargeError: big", Subclass.RESOURCE_EXHAUSTED),
        ("(421, b'4.7.0 try later')", Subclass.SERVICE_UNAVAILABLE),
        ("(451, b'4.3.0 lookup')", Subclass.SERVICE_UNAVAILABLE),
        ("(535, b'5.7.8 no')", Subclass.PERMISSION_DENIED),
        ("(550, b'5.1.1 user unknown')", Subclass.PARAM_ERROR),
        ("(552, b'5.3.4 message too big')", Subclass.RESOURCE_EXHAUSTED),
        ("sqlite3.OperationalError: database is locked", Subclass.SERVICE_UNAVAILABLE),
        ("sqlite3.OperationalError: no such column: x", Subclass.DATA_CHANGED),
        ("sqlite3.IntegrityError: UNIQUE constraint failed: t.a", Subclass.PARAM_ERROR),
        ("(1213, 'Deadlock found')", Subclass.SERVICE_UNAVAILABLE),
        ("(2006, 'MySQL server has gone away')", Subclass.NETWORK_ERROR),
        ("(1045, 'Access denied')", Subclass.PERMISSION_DENIED),
        ("(1146, 'Table x does not exist')", Subclass.DATA_CHANGED),
        ("MCP error -32601: Method not found", Subclass.CAPABILITY_MISSING),
        ("MCP error -32602: Invalid params", Subclass.PARAM_ERROR),
        ("MCP error -32602: Unknown tool: x", Subclass.PRECONDITION_ERROR),
        ("MCP error -32000: Connection closed", Subclass.NETWORK_ERROR),
        ("playwright: strict mode violation: locator", Subclass.PARAM_ERROR),
        (
            "playwright: Target page, context or browser has been closed",
            Subclass.NETWORK_ERROR,
        ),
        ("selenium: stale element reference", Subclass.DATA_CHANGED),
        ("net::ERR_NAME_NOT_RESOLVED", Subclass.PARAM_ERROR),
        ("pandas.errors.EmptyDataError: No columns", Subclass.PRECONDITION_ERROR),
        ("zipfile.BadZipFile: File is not a zip file", Subclass.PARAM_ERROR),
        ("socket.gaierror: [Errno -3] Temporary failure", Subclass.NETWORK_ERROR),
        ("ssl: CERTIFICATE_VERIFY_FAILED", Subclass.NETWORK_ERROR),
        ("! [rejected] main (non-fast-forward)", Subclass.DATA_CHANGED),
        ("port is already allocated, docker", Subclass.PARAM_ERROR),
        ("no healthy upstream", Subclass.SERVICE_UNAVAILABLE),
        ("请求过于频繁, 请稍后", Subclass.RATE_LIMITED),
        ("账户余额不足", Subclass.QUOTA_EXHAUSTED),
    ],
)
def test_words_of_each_family_have_their_class(text, subclass):
    """Messages without a status, a code or an object still say what happened."""
    assert classify(from_text(text)).subclass is subclass


@pytest.mark.parametrize(
    ("text", "category", "subclass"),
    [
        (
            '[{"id":"a","depends_on":["b"]},{"id":"b","depends_on":["a"]}]',
            PLAN,
            "order_error",
        ),
        ("step s4 depends on itself", PLAN, "order_error"),
        ("Step 3 reads report.csv, which step 5 writes", PLAN, "order_error"),
        ("duplicate step id s1", PLAN, "order_error"),
        ("unknown dependency 'fetch' in step 'parse'", PLAN, "missing_step"),
        ("The plan has no step that creates the table", PLAN, "missing_step"),
        ("one step does download, parse, validate and upload", PLAN, "too_coarse"),
        ("Step 2 assumes that the user is logged in", PLAN, "precondition_error"),
        (
            "Send it to John. [contacts: John Smith, John Doe]",
            "requirement_error",
            "ambiguous",
        ),
        ("Should we drop the index?", "requirement_error", "ambiguous"),
        ("make it faster", "requirement_error", "missing_constraint"),
        (
            "at least 800 words and no more than 500 words",
            "requirement_error",
            "conflicting",
        ),
        ("Very detailed but under 50 words", "requirement_error", "conflicting"),
        (
            "earlier: 'deploy' ... current goal: write tests",
            "requirement_error",
            "drift",
        ),
        ("Actually, instead of CSV give me a chart", "requirement_error", "drift"),
    ],
)
def test_plans_and_wishes_have_their_class(text, category, subclass):
    """Faults of plans and of requirements are told from general marks."""
    found = classify(from_text(text))
    assert (category, subclass) == (found.category, found.subclass)


@pytest.mark.parametrize(
    "text",
    [
        "List the ten largest files in /tmp as CSV",
        "Refund order 1001 with 20 EUR",
        "Keep the tests green and add 3 unit tests for parse()",
    ],
)
def test_a_clear_wish_is_no_fault(text):
    """A concrete task gives no sure class of a requirement fault."""
    assert classify(from_text(text)).confidence < SURE


def test_rules_are_named_and_within_bounds():
    """Every rule can be named in a report and states how sure it is."""
    assert all(rule.name and 0 < rule.confidence <= 1 for rule in RULES)


def test_the_framework_is_never_blamed_on_a_step():
    """Faults raised by the graph's own layer are internal."""
    found = of(layer=Layer.FRAMEWORK, message="database is locked")
    assert (found.category, found.reaction) == (Category.INTERNAL, Reaction.NO_RETRY)


def test_what_no_rule_knows_is_said_so():
    """An unknown failure is not guessed: the model may be asked."""
    found = of(message="zzz", tool="x")
    assert found.confidence < SURE
    assert (found.category, found.subclass) == (EXE, Subclass.TOOL_EXCEPTION)


def test_findings_of_the_monitor_are_data():
    """A refused output is classed by what the checks found."""
    found = of(layer=Layer.MONITOR, problems=("file is empty",), message="refused")
    assert found.subclass is Subclass.TOOL_EXCEPTION
    assert found.reaction is Reaction.ADJUST_PARAMS
