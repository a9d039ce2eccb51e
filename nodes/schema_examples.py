"""One example for each answer of the model, as prompts show it."""

from types import MappingProxyType
from typing import Any

_STEP: dict[str, Any] = {
    "id": "s2",
    "description": "Sum the amounts",
    "tool": "tool_name",
    "inputs": {"rows": "{{ s1.rows }}"},
    "dependencies": ["s1"],
    "expected_output": "one total",
    "validation_rule": "output.total >= 0",
    "risk": "low",
    "fallback": None,
}

EXAMPLES: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        "PlanDraft": {
            "goal": "…",
            "rationale": "…",
            "steps": [_STEP],
            "constraint_answers": {"c1": "met, because …"},
            "needs_clarification": None,
            "keep": [],
        },
        "Patch": {
            "arguments": {"limit": 100},
            "tool": None,
            "why": "…",
            "confidence": 0.8,
        },
        "ReflectionDraft": {
            "category": "execution_error",
            "subclass": "param_error",
            "observed_issue": "what was seen",
            "hypotheses": ["the most likely cause", "another"],
            "cause_step": "s1",
            "decision": "patch",
            "patch": {"limit": 100},
            "probes": [{"expression": "size(s1.rows) == 0", "confirms": 0}],
            "lesson": "do … when …",
            "suggested_strategy": "…",
            "counterfactual": {"step": "s1", "argument": "limit", "value": 100},
            "confidence": 0.7,
        },
        "ReplanDraft": {
            "keep": ["s5"],
            "drop": ["s6"],
            "replace": [
                {
                    "id": "s8",
                    "replaces": "s4",
                    "description": "…",
                    "tool": "tool_name",
                    "inputs": {"rows": "{{ s1.rows }}"},
                    "dependencies": ["s1"],
                }
            ],
            "add": [],
            "impossible": None,
            "why": "…",
            "constraint_answers": {},
        },
        "Critique": {"score": 0.8, "issues": ["step s2 is never checked"]},
        "Scores": {
            "candidates": [
                {
                    "index": 0,
                    "feasibility": 0.9,
                    "robustness": 0.7,
                    "efficiency": 0.8,
                    "fit": 0.9,
                }
            ]
        },
        "SignalVerdict": {
            "kind": "addition",
            "constraint": "the report must be in English",
            "question": "",
        },
    }
)
"""Name of the answer → its example."""
