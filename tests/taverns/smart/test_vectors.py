"""The golden cases of SmartTavern's constructor: every one agrees, in both profiles."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns.smart import PROFILES, SmartOptions, assemble, assemble_full, construct
from tests.shared import VECTORS

OPERATIONS: Final[dict[str, Any]] = {
    "in_chat_constructor.construct": construct,
    "framing_prompt.assemble": assemble,
    "prompt_raw.assemble_full": assemble_full,
}
KEPT_IN_FIXED: Final = {"raw_nested_list_dropped"}
"""Cases in which the original loses all lore without a word, which the profile ``fixed`` does not."""


def _cases() -> list[dict[str, Any]]:
    files = [VECTORS / "smart" / f"{name}.json" for name in ("construct", "framing", "other")]
    return [case for file in files for case in json.loads(file.read_text("utf-8")) if case["call"] in OPERATIONS]


CASES: Final = _cases()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_agrees(case: dict[str, Any], profile: str) -> None:
    """The same messages, keys in the same order; the same error; and the inputs as they were."""
    run, options = OPERATIONS[case["call"]], SmartOptions.of(profile)
    before = json.dumps(case["input"])
    if error := case.get("error"):
        with pytest.raises(InnkeeperError) as caught:
            run(**case["input"], options=options)
        if error["type"] == "ValueError":
            assert isinstance(caught.value, ValueError)
            assert caught.value.message == error["message"]
        assert caught.value.where is not None
    else:
        agrees = json.dumps(run(**case["input"], options=options)) == json.dumps(case["expected"])
        assert agrees is not (profile == "fixed" and case["name"] in KEPT_IN_FIXED)
    assert json.dumps(case["input"]) == before


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.get("contradicts_document")], ids=lambda case: case["name"]
)
def test_switches_give_the_originals_answers(case: dict[str, Any]) -> None:
    """Where the document and the original differ, and a switch is there for it, the switch gives the original's answer."""
    switches: dict[str, dict[str, Any]] = {
        "order_zero": {"order_zero": "default"},
        "depth_negative": {"negative_depth": "scrambled"},
        "wb_object_form": {"history_system_type": "history.assistant"},
    }
    chosen = next((fields for prefix, fields in switches.items() if case["name"].startswith(prefix)), None)
    if chosen is None:
        assert case["name"].startswith(("wb_array", "wb_nested", "cond_kw")), "a difference without a switch"
        return
    options = SmartOptions(compat=type(PROFILES["fixed"])(**chosen))
    assert json.dumps(OPERATIONS[case["call"]](**case["input"], options=options)) == json.dumps(case["impl_actual"])
