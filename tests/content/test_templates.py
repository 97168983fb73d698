"""Templates for text completion, one by one and in a master export."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import (
    AssetError,
    ContextTemplate,
    InstructNames,
    InstructTemplate,
    PresetFile,
    ReasoningTemplate,
    StoryPosition,
    SystemPrompt,
    WrongKindError,
    load_preset,
    load_preset_file,
)
from innkeeper.content.json.json_asset import JsonAsset
from innkeeper.prompt.errors import FormatError, LimitError
from tests import shared
from tests.content.builders import attempt, objects, values

KINDS: list[type[JsonAsset]] = [ContextTemplate, InstructTemplate, SystemPrompt, ReasoningTemplate]

CONTEXT = {
    "name": "C",
    "story_string": "{{system}}",
    "story_string_position": 1,
    "story_string_role": 2,
    "chat_start": "---",
}
INSTRUCT = {"name": "I", "input_sequence": "<u>", "output_sequence": "<a>", "wrap": False, "names_behavior": "always"}
SYSPROMPT = {"name": "S", "content": "You write.", "post_history": "Go on."}
REASONING = {"name": "R", "prefix": "<think>", "suffix": "</think>", "separator": "\n"}


def test_context() -> None:
    """Numbers stand for positions and roles."""
    template = ContextTemplate.of(CONTEXT)
    assert (template.story_string_position, template.story_string_role) == (StoryPosition.IN_CHAT, "assistant")
    assert (template.chat_start, template.names_as_stop_strings, template.story_string_depth) == ("---", True, 1)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"wrap": False, "macro": False}, {"wrap": False, "macro": False}),
        ({}, {"wrap": True, "sequences_as_stop_strings": True, "names_behavior": InstructNames.FORCE}),
        ({"names_behavior": 0}, {"names_behavior": InstructNames.NONE}),
        ({"names": True}, {"names_behavior": InstructNames.ALWAYS}),
        ({"names": False, "names_force_groups": True}, {"names_behavior": InstructNames.FORCE}),
        ({"names": False}, {"names_behavior": InstructNames.NONE}),
        ({"separator_sequence": "|"}, {"output_suffix": "|"}),
        ({"separator_sequence": "|", "output_suffix": "!"}, {"output_suffix": "!"}),
        (
            {"system_sequence_prefix": "<", "system_sequence_suffix": ">"},
            {"story_string_prefix": "<", "story_string_suffix": ">"},
        ),
        ({"instructStop": "x"}, {"stop_sequence": "x"}),
        ({"preset": "Old"}, {"name": "Old"}),
    ],
    ids=lambda value: ", ".join(value) or "nothing",
)
def test_instruct(raw: dict[str, Any], expected: dict[str, Any]) -> None:
    """Today's fields, and those of the past as today's."""
    template = InstructTemplate.of(raw)
    assert {name: getattr(template, name) for name in expected} == expected


def test_system_prompt_and_reasoning() -> None:
    """The two small ones."""
    assert (SystemPrompt.of(SYSPROMPT).content, SystemPrompt.of(SYSPROMPT).post_history) == ("You write.", "Go on.")
    reasoning = ReasoningTemplate.of(REASONING | {"max_additions": 1, "add_to_prompts": True})
    assert (reasoning.prefix, reasoning.suffix, reasoning.max_additions, reasoning.add_to_prompts) == (
        "<think>",
        "</think>",
        1,
        True,
    )


@given(kind=st.sampled_from(KINDS), other=objects, data=st.data())
def test_any_template(kind: type[JsonAsset], other: Any, data: st.DataObject) -> None:
    """Any values in any fields give a template that is written as it was."""
    names = [name for name in kind.__struct_fields__ if name not in {"document", "path", "findings"}]
    text = json.dumps(other | data.draw(st.dictionaries(st.sampled_from(names), values, max_size=6)))
    template = attempt(lambda: kind.of(text))
    assert isinstance(template, (kind, FormatError, LimitError))
    if isinstance(template, kind):
        assert template.to_json() == text.encode()


def test_a_master_export_has_all_parts() -> None:
    """Each part is read at its place; its findings name that place."""
    raw = {
        "instruct": INSTRUCT | {"wrap": "maybe"},
        "context": CONTEXT,
        "sysprompt": SYSPROMPT,
        "reasoning": REASONING,
        "preset": {"name": "P", "temp": 0.7},
    }
    file = load_preset_file(json.dumps(raw).encode())
    assert (file.kind, len(file.parts), file.preset) == ("master export", 5, None)
    assert file.instruct is not None
    assert file.text_preset is not None
    assert (file.instruct.names_behavior, file.text_preset.temperature) == ("always", 0.7)
    assert [finding.path for finding in file.findings] == ["instruct.wrap"]
    assert json.loads(file.instruct.replace(wrap=True).document.encode())["instruct"]["wrap"] is True


@pytest.mark.parametrize(
    ("raw", "kind", "part"),
    [
        (CONTEXT, "context template", "context"),
        (INSTRUCT, "instruct template", "instruct"),
        (SYSPROMPT, "system prompt", "sysprompt"),
        (REASONING, "reasoning template", "reasoning"),
        ({"temp": 1, "top_p": 1, "rep_pen": 1}, "text preset", "text_preset"),
        ({"prompts": []}, "chat preset", "preset"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_single_files(raw: dict[str, Any], kind: str, part: str) -> None:
    """Each kind is told by its fields."""
    file = load_preset_file(json.dumps(raw).encode())
    assert file.kind == kind
    assert file.parts == (getattr(file, part),)


def test_the_system_prompt_that_was_in_instruct_templates() -> None:
    """It is read as a template of its own."""
    file = load_preset_file(json.dumps(INSTRUCT | {"system_prompt": "Be kind."}).encode())
    assert file.sysprompt is not None
    assert file.sysprompt.content == "Be kind."


def test_what_is_no_preset() -> None:
    """Another kind of file, an unknown one and a template where a preset is asked for are typed errors."""
    with pytest.raises(WrongKindError, match="not a preset but a lorebook"):
        load_preset_file(b'{"entries": {}}')
    with pytest.raises(AssetError):
        load_preset_file(b'{"a": 1}')
    with pytest.raises(AssetError, match="not a chat preset but a context template"):
        load_preset(json.dumps(CONTEXT).encode())


@given(tree=values)
def test_any_file(tree: Any) -> None:
    """Whatever the JSON is, the answer is a file or an error of ours."""
    assert isinstance(
        attempt(lambda: load_preset_file(json.dumps(tree).encode())),
        (PresetFile, FormatError, LimitError, WrongKindError),
    )


def test_golden_templates_are_read_without_complaint() -> None:
    """All templates of the SillyTavern cases."""
    cases = json.loads(shared.need("vectors/silly/text_completion/random.json").read_bytes())
    for case in cases:
        text = case["input"]["text"]
        assert ContextTemplate.of(text["context"]).findings == ()
        assert InstructTemplate.of(text.get("instruct") or {}).findings == ()
        assert SystemPrompt.of(text.get("sysprompt") or {}).findings == ()
