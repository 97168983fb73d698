"""Presets of a folder by name: they count as if they had been selected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from innkeeper.prompt import UnknownNameError
from innkeeper.taverns.silly.install import Install
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.selected import selecting
from tests.taverns.silly.install.folders import RECORDED, card, folder


def test_a_chat_preset() -> None:
    """Its prompts and lengths hold instead of those in the settings."""
    plan = Install.open(RECORDED).prepare("Mira1", presets=("House",)).build()
    assert plan.messages[0].content == "Another main for Mira."
    assert plan.options["temperature"] == 1.2
    assert plan.trim_report.max_tokens == 2048


def test_templates(tmp_path: Path) -> None:
    """For text completion a name can mean a preset and templates at once."""
    root = folder(tmp_path, main_api="textgenerationwebui")
    for place, raw in (
        ("TextGen Settings", {"temp": 0.5, "genamt": 99}),
        ("instruct", {"wrap": False}),
        ("sysprompt", {}),
    ):
        (root / place).mkdir()
        (root / place / "Mine.json").write_text(json.dumps(raw))
    assert selecting(UserFolder(root), ["Mine"], is_text=True) == {
        "textgenerationwebui_settings": {"temp": 0.5, "genamt": 99, "preset": "Mine"},
        "amount_gen": 99,
        "power_user": {"instruct": {"wrap": False, "preset": "Mine"}, "sysprompt": {"name": "Mine"}},
    }


@pytest.mark.parametrize("name", ["Nothing", "../settings"])
def test_names_that_are_not_there(name: str) -> None:
    """The error says where was looked."""
    with pytest.raises(UnknownNameError, match="OpenAI Settings"):
        Install.open(RECORDED).prepare("Mira", presets=(name,))


def test_macros_of_settings_in_chats(tmp_path: Path) -> None:
    """Templates, the note's default and the chat's summary are there in chat completion too."""
    text = "{{systemPrompt}}|{{chatStart}}|{{exampleSeparator}}|{{defaultAuthorsNote}}|{{summary}}|{{charPrefix}}"
    root = folder(
        tmp_path,
        oai_settings={"prompts": [{"identifier": "main", "content": text, "system_prompt": True}]},
        power_user={
            "sysprompt": {"enabled": True, "content": "SYSP"},
            "context": {"chat_start": "CST", "example_separator": "EXS"},
        },
        extension_settings={"note": {"default": "NOTE"}, "sd": {"character_prompts": {"Mira": "blue"}}},
    )
    lines = [{"chat_metadata": {}}, {"name": "Mira", "mes": "Hi.", "extra": {"memory": "rain"}}]
    (root / "chats" / "Mira").mkdir()
    (root / "chats" / "Mira" / "now.jsonl").write_text("\n".join(map(json.dumps, lines)))
    card(root, "Mira", chat="now")
    plan = Install.open(root).prepare("Mira", message="hm").build()
    assert plan.messages[0].content == "SYSP|CST|EXS|NOTE|rain|blue"


def test_a_folder_without_a_preset_has_a_main_prompt(tmp_path: Path) -> None:
    """SillyTavern adds the prompts that are missing: ours, of the same meaning, and a note says so."""
    prepared = Install.open(folder(tmp_path)).prepare("Mira", message="hm")
    assert prepared.build().messages[0].content == "Write the next message of Mira in this story with Ilse."
    assert any("no main prompt" in note.message for note in prepared.notes)


def test_what_selects_is_read(tmp_path: Path) -> None:
    """The name of the selected preset and its source's model have an effect; another source's model has none."""
    chat = {"chat_completion_source": "openai", "openai_model": "gpt-4o", "claude_model": "c", "temp_openai": 1}
    root = folder(tmp_path, oai_settings={**chat, "preset_settings_openai": "Default"})
    plan = Install.open(root).prepare("Mira").build()
    assert plan.model == "gpt-4o"
    assert "preset.claude_model has no effect: nothing reads it" in map(str, plan.notes)
    assert not [note for note in plan.notes if "openai" in str(note)]
