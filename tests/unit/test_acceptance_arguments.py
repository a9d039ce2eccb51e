"""Wrong arguments of create_mend_agent: refused at once, with what to give instead."""

import pytest
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import ToolPolicy, create_mend_agent
from mendgraph.tools.errors import ConfigError, MendError
from mendgraph.tools.models.errors import ModelError


def look(order: int = 1) -> dict:
    """Look an order up."""
    return {"order": order}


def pay(amount: int, key: str = "") -> dict:
    """Pay an amount once for a key."""
    return {"status": "paid", "amount": amount, "key": key}


def subtask() -> int:
    """Have a name that is taken."""
    return 1


def paying(**fields):
    return {"policies": {"pay": fields}}


WRONG = {
    "model": ({"model": 5}, "model is int; give a name such as"),
    "model-name": ({"model": "nope"}, "write provider:model"),
    "no-key": ({"model": "deepseek:deepseek-flash"}, "set DEEPSEEK_API_KEY"),
    "tools-none": ({"tools": None}, "tools is NoneType; give a list"),
    "tools-single": ({"tools": look}, "tools is function; give a list"),
    "tools-text": ({"tools": "look"}, "tools is str; give a list"),
    "tool-number": ({"tools": [5]}, "5 is neither a LangChain tool nor a callable"),
    "tool-twice": ({"tools": [look, look]}, "two tools are called 'look'"),
    "tool-reserved": ({"tools": [subtask]}, "'subtask' is reserved; rename it"),
    "policies-list": ({"policies": []}, "policies is list; give a mapping"),
    "policy-number": ({"policies": {"pay": 5}}, "give a ToolPolicy or its fields"),
    "policy-stranger": ({"policies": {"zz": {}}}, "there are: look, pay"),
    "policy-field": (paying(efect="read"), "did you mean 'effect'?"),
    "policy-value": (paying(effect="reads"), "'read', 'write' or 'irreversible'"),
    "policy-rule": (paying(final_when="output. >"), "final_when: the rule"),
    "policy-name": (paying(final_when="ouput.a == 1"), "uses 'ouput'; there are: args"),
    "policy-key": (paying(idempotency_arg="kee"), "names no argument: 'kee'"),
    "policy-schema": (paying(output_schema={"type": "odd"}), "is no JSON Schema"),
    "policy-fallback": (paying(fallback="zz"), "fallback names no tool: 'zz'"),
    "confirm-tool": (paying(confirm_with={"tool": "zz"}), "names no tool: 'zz'"),
    "confirm-rule": (
        paying(confirm_with={"tool": "look", "done_when": "((("}),
        "confirm_with.done_when: the rule",
    ),
    "confirm-argument": (
        paying(confirm_with={"tool": "look", "arguments": {"ordr": 1}}),
        "confirm_with.arguments: tool 'look'",
    ),
    "confirm-template": (
        paying(confirm_with={"tool": "look", "arguments": {"order": "{{ args. }}"}}),
        "confirm_with.arguments: the rule",
    ),
    "interrupt-list": ({"interrupt_on": ["pay"]}, "interrupt_on is list"),
    "interrupt-stranger": ({"interrupt_on": {"zz": True}}, "no tool is called 'zz'"),
    "interrupt-text": ({"interrupt_on": {"pay": "yes"}}, "give True, False or"),
    "interrupt-decision": (
        {"interrupt_on": {"pay": {"allowed_decisions": ["yes"]}}},
        "known: ('approve', 'edit', 'reject', 'respond')",
    ),
    "rule-stranger": (
        {"authorise": [{"tool": "pey", "decision": "deny"}]},
        "is for no tool here; there are: look, pay",
    ),
    "rule-name": (
        {"authorise": [{"when": "arg.amount > 5", "decision": "deny"}]},
        "uses 'arg'; there are: args, effect, tool",
    ),
    "rule-decision": ({"authorise": [{"decision": "no"}]}, "'allow', 'ask' or 'deny'"),
    "rule-text": ({"authorise": ["deny pay"]}, "give an AuthRule or its fields"),
    "limits-negative": ({"limits": {"retries": -1}}, "greater than or equal to 0"),
    "limits-field": ({"limits": {"retrys": 1}}, "did you mean 'retries'?"),
    "limits-kind": ({"limits": 3}, "limits is int; give Limits(...)"),
    "checkpointer": ({"checkpointer": "sqlite"}, "checkpointer is str"),
    "store": ({"store": {}}, "store is dict; give a LangGraph store"),
    "both": (
        {"persist": "here", "checkpointer": InMemorySaver()},
        "either persist= or checkpointer=/store=",
    ),
    "persist-empty": ({"persist": ""}, "persist is empty"),
    "persist-null": ({"persist": "a\0b"}, "persist has a null byte"),
    "persist-address": (
        {"persist": "mysql://u:secret@host/db"},
        "persist cannot be a mysql:// address; give a folder or postgresql://",
    ),
    "paths": ({"paths": 0}, "paths=0: give 1, 2 or 3"),
    "assume": ({"assume": "maybe"}, "give 'write' or 'read'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_refused_with_its_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One error of ours, raised before anything is opened; secrets stay out of it."""
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    given, words = WRONG[name]
    with pytest.raises((MendError, ModelError)) as caught:
        create_mend_agent(**{"model": None, "tools": [look, pay], **given})
    assert words in str(caught.value)
    assert "errors.pydantic.dev" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_all_faults_of_policies_are_said_at_once() -> None:
    """Two broken rules of two tools are two lines of one error."""
    policies = {
        "look": ToolPolicy(final_when="(("),
        "pay": ToolPolicy(failed_when="))"),
    }
    with pytest.raises(ConfigError) as caught:
        create_mend_agent(None, tools=[look, pay], policies=policies)
    assert [line.split()[3].rstrip(":") for line in str(caught.value).splitlines()] == [
        "'look'",
        "'pay'",
    ]


def test_right_arguments_in_their_other_forms_are_taken() -> None:
    """Limits as a mapping, a pattern in a rule, a key that the plan never sees."""
    agent = create_mend_agent(
        None,
        tools=(tool for tool in (look, StructuredTool.from_function(pay))),
        policies={"pay": {"effect": "irreversible", "idempotency_arg": "key"}},
        authorise=[{"tool": "delete_*", "decision": "deny"}],
        limits={"retries": 2},
    )
    assert agent.held.deps.limits.retries == 2
    assert agent.held.deps.registry.names == ("look", "pay")
