"""The demo without its server: plan, generator, and what the rehearsal decides."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from mendgraph.demo.codegen import sql_codegen
from mendgraph.demo.plan import CSV_TEMPLATE, TASK, pvuv_plan
from mendgraph.demo.rehearsal import LABEL, RehearsalModel
from mendgraph.demo.rehearsal_faults import CAST_LESSON, QUOTE_LESSON, quoted
from mendgraph.demo.tools import demo_toolkit
from mendgraph.nodes.schemas import Critique, Patch, PlanDraft, ReflectionDraft
from mendgraph.state.plan import Plan
from mendgraph.tools.registry import make_registry

EXAMPLE = Path(__file__).parents[2] / "examples" / "pvuv_plan.json"
BARE = sql_codegen("user_log", "when")["sql"]
SYNTAX_ERROR = 'syntax error at or near "when"\nLINE 1: SELECT date_trunc('
MISMATCH = "row 0, column 'pv': int, template says string"


def say(role, text):
    """Ask the rehearsal as the reasoner does and return its answer."""
    messages = [SystemMessage(f"You help.\nROLE: {role}\n"), HumanMessage(text)]
    return json.loads(RehearsalModel().invoke(messages).text)


def failed_query(sql=BARE):
    call = {"tool": "postgres_batch_query", "arguments": {"sql": sql}}
    return f"step s4 bound to s3.sql failed\n{json.dumps(call)}\n{SYNTAX_ERROR}"


def failed_file():
    output = {"rows": 0, "size_bytes": 0, "skipped": 2, "mismatches": [MISMATCH]}
    return f"step s5 csv_writer: the file is empty\n{json.dumps(output)}"


def test_the_example_file_is_the_plan():
    """The committed file is what the demo runs."""
    assert json.loads(EXAMPLE.read_text()) == pvuv_plan()


def test_the_plan_loads_and_fits_the_tools(tmp_path):
    """Every step names a tool of the kit, with arguments its schema takes."""
    kit = demo_toolkit("postgresql://unused", tmp_path)
    registry = make_registry(kit.tools, kit.policies)
    for careful in ({}, {"quote_identifiers": True, "on_mismatch": "cast"}):
        plan = Plan.model_validate(pvuv_plan(**careful))
        assert plan.ids == ("s1", "s2", "s3", "s4", "s5")
        for step in plan.steps:
            entry = registry.get(step.tool)
            assert entry.template_problems(step.inputs) == []


def test_the_generator_quotes_only_when_told():
    """It is a template, says so, and leaves names as they are by default."""
    plain = sql_codegen("user_log", "when")
    assert "date_trunc('hour', when)" in plain["sql"]
    assert plain["generated_by"] == "template (not a model)"
    careful = sql_codegen("user_log", "when", quote_identifiers=True)
    assert "date_trunc('hour', \"when\")" in careful["sql"]
    assert '"user_id"' in careful["sql"]


def test_the_generator_takes_names_only():
    """Nothing but a name reaches the template."""
    with pytest.raises(ValueError, match="no plain SQL name"):
        sql_codegen("user_log; DROP TABLE x", "when")


def test_the_rehearsal_says_what_it_is():
    """Type, name and every answer's metadata are labelled."""
    model = RehearsalModel()
    assert model._llm_type == model.model_name == LABEL
    answer = model.invoke([SystemMessage("ROLE: plan"), HumanMessage(TASK)])
    assert answer.response_metadata["rehearsal"] is True
    assert answer.response_metadata["model_name"] == LABEL


def test_a_first_plan_has_the_faults_and_a_taught_one_has_not():
    """Only lessons in the prompt change the plan."""
    assert say("plan", TASK)["steps"] == pvuv_plan()["steps"]
    taught = say("plan", f"{TASK}\nLessons:\n- {QUOTE_LESSON}\n- {CAST_LESSON}")
    expected = pvuv_plan(quote_identifiers=True, on_mismatch="cast")
    assert taught["steps"] == expected["steps"]
    half = say("plan", f"{TASK}\nLessons:\n- {QUOTE_LESSON}")
    assert half["steps"] == pvuv_plan(quote_identifiers=True)["steps"]


def test_tool_descriptions_are_no_lessons(tmp_path):
    """Schemas that name the arguments teach nothing."""
    tools = demo_toolkit("postgresql://unused", tmp_path).tools
    shown = "\n".join(
        f"{tool.name}: {tool.description} {json.dumps(tool.args)}" for tool in tools
    )
    assert say("plan", f"{TASK}\n{shown}")["steps"] == pvuv_plan()["steps"]


def test_another_task_is_asked_about_and_not_invented():
    """It knows one task and says so."""
    draft = PlanDraft.model_validate(say("plan", "Book a flight to Oslo"))
    assert draft.steps == []
    assert "not a model" in draft.needs_clarification.question


def test_a_reserved_word_is_quoted_in_the_failed_sql():
    """The word comes from the error, the statement from the arguments."""
    expected = BARE.replace("when", '"when"')
    patch = Patch.model_validate(say("patch", failed_query()))
    assert patch.arguments == {"sql": expected}
    other = BARE.replace("when", "window")
    text = failed_query(other).replace('near "when"', 'near "window"')
    assert say("patch", text)["arguments"] == {
        "sql": other.replace("window", '"window"')
    }


def test_escaped_prompts_are_read_as_well():
    """A prompt may carry the facts as JSON inside JSON."""
    expected = {"sql": BARE.replace("when", '"when"')}
    assert say("patch", json.dumps({"facts": failed_query()}))["arguments"] == expected
    nested = json.dumps({"sql": BARE, "message": SYNTAX_ERROR})
    assert say("patch", nested)["arguments"] == expected


def test_reflection_names_cause_step_and_a_probe():
    """The cause is upstream, and a harmless statement can confirm it."""
    draft = ReflectionDraft.model_validate(say("reflect", failed_query()))
    assert (draft.decision, draft.cause_step) == ("patch", "s3")
    assert draft.subclass == "param_error"
    assert draft.probes[0].tool == "postgres_query"
    assert draft.probes[0].arguments["sql"] == f"EXPLAIN {draft.patch['sql']}"
    assert draft.lesson == QUOTE_LESSON
    assert draft.counterfactual.argument == "quote_identifiers"


def test_an_empty_file_by_its_template_is_cast():
    """Mismatches in the output decide, also beside the earlier fault."""
    for text in (failed_file(), f"{failed_query()}\n{failed_file()}"):
        draft = ReflectionDraft.model_validate(say("reflect", text))
        assert draft.patch == {"on_mismatch": "cast"}
        assert draft.subclass == "parse_error"
        assert draft.lesson == CAST_LESSON


def test_the_mismatch_is_also_seen_in_template_and_rows():
    """Without the tool's own words, template, a row and the empty file decide."""
    step = json.dumps({"id": "s5", "inputs": {"template": CSV_TEMPLATE}})
    rows = "s4: {'rows': [{'hour': '2026-01-01T00:00:00', 'pv': 27, 'uv': 27}]}"
    problem = "the file has 0 bytes; at least 1 were expected"
    expected = {"on_mismatch": "cast"}
    assert say("patch", f"{step}\n{problem}\n{rows}")["arguments"] == expected
    as_text = rows.replace("27", "'27'")
    assert say("patch", f"{step}\n{problem}\n{as_text}")["arguments"] == {}
    assert say("patch", f"{step}\n{rows}")["arguments"] == {}


def test_sql_in_python_notation_is_read_as_well():
    """Outputs of upstream steps come as Python writes them."""
    upstream = f"s3: { ({'sql': BARE, 'generated_by': 'template'})!r}"
    expected = {"sql": BARE.replace("when", '"when"')}
    found = say("patch", f"{SYNTAX_ERROR}\n{upstream}")["arguments"]
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "connection refused",
        "the file is empty",
        failed_query(BARE.replace("when", '"when"')),
    ],
)
def test_other_faults_are_not_guessed_at(text):
    """Without evidence of its two faults it gives up and says why."""
    draft = ReflectionDraft.model_validate(say("reflect", text))
    assert (draft.decision, draft.confidence, draft.patch) == ("give_up", 0, None)
    assert say("patch", text)["arguments"] == {}


def test_critique_counts_steps_without_a_rule():
    """The score is a count that can go either way."""
    whole = pvuv_plan()
    assert Critique.model_validate(say("critique", json.dumps(whole))).score == 1
    del whole["steps"][0]["validation_rule"]
    found = say("critique", json.dumps(whole))
    assert found == {"score": 0.8, "issues": ["1 steps have no validation_rule"]}


def test_an_unknown_role_is_refused():
    """It plays what it was written for."""
    with pytest.raises(ValueError, match="does not play the role 'poet'"):
        say("poet", "a poem")


def test_quoting_leaves_strings_and_quoted_names():
    """Only bare uses change."""
    sql = """SELECT when, 'when', "when", whenever FROM t"""
    assert quoted(sql, "when") == """SELECT "when", 'when', "when", whenever FROM t"""
