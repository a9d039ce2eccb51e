"""The offline stand-in for a planner in the demo: written rules, and no model.

It knows one task and two kinds of fault, and answers from what the prompt really says.
Its type, its name and every answer's metadata say what it is.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from mendgraph.demo.plan import pvuv_plan
from mendgraph.demo.rehearsal_faults import find_fault, lessons_in

LABEL = "mendgraph-rehearsal-not-a-model"
ROLE = re.compile(r"^ROLE:\s*(?P<role>\w+)", re.MULTILINE)
KNOWN_TASK = re.compile(r"\bPV\b[\s\S]*\bUV\b|page views[\s\S]*visitors", re.IGNORECASE)
LIMITS = "The rehearsal (written rules, not a model) knows only the PV/UV demo"


class RehearsalModel(BaseChatModel):
    """Written rules in the place of a model, for the demo without a key."""

    model_name: str = LABEL

    @property
    def _llm_type(self) -> str:
        return LABEL

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - as above
        **_options: Any,
    ) -> ChatResult:
        text = json.dumps(answer(messages), ensure_ascii=False)
        message = AIMessage(
            text,
            response_metadata={
                "model_name": LABEL,
                "rehearsal": True,
                "finish_reason": "stop",
            },
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def answer(messages: list[BaseMessage]) -> dict[str, Any]:
    """Return what the rules say to a prompt.

    Raises:
        ValueError: The prompt names no role the rehearsal plays.
    """
    system = "\n".join(m.text for m in messages if isinstance(m, SystemMessage))
    user = "\n".join(m.text for m in messages if not isinstance(m, SystemMessage))
    found = ROLE.search(system) or ROLE.search(user)
    role = found["role"].lower() if found else "none"
    if role not in ANSWERS:
        raise ValueError(f"{LIMITS}; it does not play the role {role!r}")
    return ANSWERS[role](user)


def _plan(prompt: str) -> dict[str, Any]:
    if not KNOWN_TASK.search(prompt):
        question = f"{LIMITS}. Shall it plan that, or will you configure a model?"
        asked = {"question": question, "options": ["plan PV/UV", "stop"]}
        return {"goal": "", "steps": [], "needs_clarification": asked}
    known = lessons_in(prompt)
    taught = [name for name, value in known.items() if value]
    plan = pvuv_plan(**known)
    said = f"lessons used: {', '.join(taught)}" if taught else "no lesson applies"
    return {
        "goal": plan["goal"],
        "rationale": f"Written rules, not a model; {said}.",
        "steps": plan["steps"],
        "needs_clarification": None,
    }


def _patch(prompt: str) -> dict[str, Any]:
    fault = find_fault(prompt)
    if fault is None:
        return {"arguments": {}, "why": LIMITS, "confidence": 0.0}
    return {
        "arguments": fault.patch,
        "why": fault.lesson,
        "lesson": fault.lesson,
        "confidence": 0.85,
    }


def _reflect(prompt: str) -> dict[str, Any]:
    fault = find_fault(prompt)
    if fault is None:
        return {
            "category": None,
            "subclass": None,
            "observed_issue": LIMITS,
            "hypotheses": [],
            "decision": "give_up",
            "confidence": 0.0,
        }
    return {
        "category": "execution_error",
        "subclass": fault.subclass,
        "observed_issue": fault.issue,
        "hypotheses": [fault.hypothesis],
        "cause_step": fault.cause_step,
        "decision": "patch",
        "patch": fault.patch,
        "probes": list(fault.probes),
        "lesson": fault.lesson,
        "suggested_strategy": fault.lesson,
        "counterfactual": fault.counterfactual,
        "confidence": 0.85,
    }


def _replan(_prompt: str) -> dict[str, Any]:
    why = f"{LIMITS} and has no other way to reach its goal"
    return {"keep": [], "drop": [], "replace": [], "add": [], "impossible": why}


def _critique(prompt: str) -> dict[str, Any]:
    """Score by one countable thing: the share of steps with an executable check."""
    steps = len(re.findall(r'"tool"\s*:\s*"', prompt))
    checked = len(re.findall(r'"validation_rule"\s*:\s*"', prompt))
    unchecked = max(0, steps - checked)
    issues = [f"{unchecked} steps have no validation_rule"] if unchecked else []
    return {"score": min(1.0, checked / steps) if steps else 0.0, "issues": issues}


def _signal(_prompt: str) -> dict[str, Any]:
    question = f"{LIMITS} and cannot judge messages. What should change?"
    return {"kind": "unclear", "question": question}


ANSWERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "plan": _plan,
    "patch": _patch,
    "reflect": _reflect,
    "replan": _replan,
    "critique": _critique,
    "signal": _signal,
}
"""Role, as the prompt's `ROLE:` line names it → what the rules say."""
