"""The data bank's files of a folder, as the vector storage searches them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from innkeeper.prompt import UsageError
from innkeeper.taverns.silly.install import Install
from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.install import data_bank
from innkeeper.taverns.silly.install.names import find_card
from innkeeper.taverns.silly.install.selected import Selected
from tests.taverns.silly.install.folders import book, card, chat, folder, group


def file(name: str) -> dict[str, Any]:
    """A file of the data bank, as it is stored."""
    return {"url": f"/user/files/{name}", "name": name, "size": 3}


STORED = {
    "vectors": {"enabled_files": True},
    "attachments": [file("a.txt"), file("off.txt")],
    "character_attachments": {"Mira.png": [file("c.txt")], "Bo.png": [file("d.txt")]},
    "disabled_attachments": ["/user/files/off.txt"],
}


@pytest.fixture
def user(tmp_path: Path) -> UserFolder:
    """A folder with some files."""
    root = folder(tmp_path)
    (root / "user" / "files").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "c.txt", "off.txt"):
        (root / "user" / "files" / name).write_text(f"text of {name}")
    return UserFolder(root)


def texts(user: UserFolder, metadata: dict[str, Any], **changes: Any) -> list[Any]:
    """The texts of the files that are searched."""
    selected = Selected(user, {"extension_settings": {**STORED, **changes}})
    found = data_bank(user, selected, metadata, find_card(user, "Mira"))
    return [item["text"] for item in found.get("attachments", ())]


def test_whose_files(user: UserFolder) -> None:
    """Everybody's, the chat's and the character's, in this order, without those that are off."""
    assert texts(user, {"attachments": [file("b.txt")]}) == ["text of a.txt", "text of b.txt", "text of c.txt"]


@pytest.mark.parametrize("changes", [{"vectors": {}}, {"disabledExtensions": ["vectors"]}])
def test_not_searched(user: UserFolder, changes: dict[str, Any]) -> None:
    """Without a search of files none is read."""
    assert texts(user, {}, **changes) == []


@pytest.mark.parametrize("url", ["/user/files/../../settings.json", "/user/files/missing.txt", "https://x/a", "", 5])
def test_addresses_that_lead_nowhere(user: UserFolder, url: Any) -> None:
    """An address that is not that of a file in the folder has no text."""
    assert texts(user, {}, attachments=[{"url": url, "name": "x"}], character_attachments={}) == [None]


def _digest(root: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(root.rglob("*")) if path.is_file()
    }


def test_a_build(tmp_path: Path) -> None:
    """Settings, persona, card, chat and books come together; the folder is as it was."""
    power = {"persona_description": "{{user}} is a sailor.", "reasoning": {"add_to_prompts": True}}
    own = [{"name": "Mira", "prompt": "Own.", "useChara": True}]
    chatting = {"openai_max_context": 999, "openai_model": "gpt-4o", "chat_completion_source": "openai"}
    prompts = [{"identifier": "main", "role": "system", "content": "You are {{char}}.", "system_prompt": True}]
    root = folder(
        tmp_path,
        power_user=power,
        oai_settings={"prompts": prompts, **chatting},
        world_info_settings={"world_info": {"globalSelect": ["Town"]}, "world_info_depth": 5},
        extension_settings={"variables": {"global": {"season": "autumn"}}, "note": {"chara": own}},
        tags=[{"id": "t", "name": "inn"}],
        tag_map={"Mira.png": ["t"]},
    )
    card(root, "Mira", chat="now")
    chat(root, "Mira", "now", "Hello, {{getglobalvar::season}}.", note_prompt="Note.")
    book(root, "Town", "The town of {{user}}.")
    before = _digest(root)
    prepared = Install.open(root).prepare("Mira", message="Hi")
    plan = prepared.build()
    assert _digest(root) == before
    texts = [message.content for message in plan.messages]
    assert texts[0] == "You are Mira."
    assert {"The town of Ilse.", "Ilse is a sailor.", "Hello, autumn.", "Hi", "Own."} <= set(texts)
    assert prepared.request.settings["character_tags"] == ("t",)
    assert prepared.request.model == "gpt-4o"
    assert plan.trim_report.max_tokens == 999
    assert str(prepared) == "Mira.png and a user without a persona in chats/Mira/now.jsonl"


def test_what_was_open(tmp_path: Path) -> None:
    """Without a name the character or group that was open last is meant; without one there is a list of names."""
    root = folder(tmp_path, active_character="Mira.png", active_group="17")
    group(root, "17", "Inn", "Mira.png")
    assert Install.open(root).prepare().character == "Mira.png"
    group_open = {"active_character": "gone.png"}
    assert Install.open(root, changes=group_open).prepare().request.group is not None
    with pytest.raises(UsageError, match="none was open") as told:
        Install.open(root, changes=group_open | {"active_group": None}).prepare()
    assert told.value.hint == "--character 'Mira', --group 'Inn'"


def test_contents(tmp_path: Path) -> None:
    """What a folder has, by file name."""
    root = folder(tmp_path)
    chat(root, "Mira", "a", "Hello.")
    group(root, "17", "Inn", "Mira.png")
    contents = Install.open(root).contents()
    assert contents.characters == {"Mira.png": ("Mira", ("a",))}
    assert contents.groups == {"17": ("Inn", ("all",))}


def test_little_is_there(tmp_path: Path) -> None:
    """A folder with nothing but a card builds; what is missing is said."""
    root = folder(tmp_path)
    (root / "settings.json").unlink()
    plan = Install.open(root).prepare("Mira").build()
    assert [message.content for message in plan.messages if message.role == "assistant"] == ["Come in!"]
    assert any("there are no settings" in note.message for note in plan.notes)


def test_text_completion(tmp_path: Path) -> None:
    """With a text API the templates in the settings make one text; an API with rules of its own is said."""
    power = {
        "context": {"story_string": "{{description}}\n"},
        "instruct": {"enabled": True, "input_sequence": "### In"},
    }
    root = folder(tmp_path, main_api="koboldhorde", power_user=power, max_context=2048, amount_gen=99)
    prepared = Install.open(root).prepare("Mira", message="Hi")
    plan = prepared.build()
    assert "### In" in plan.to_messages()["prompt"]
    assert plan.trim_report.max_tokens == 2048
    assert any("'koboldhorde'" in note.message for note in plan.notes)
    chatting = Install.open(root).prepare("Mira", chat_only=True)
    assert chatting.request.dialect == "openai"
    assert any("chat completion are used" in note.message for note in chatting.notes)


def test_changes(tmp_path: Path) -> None:
    """Settings can be tried without writing them."""
    root = folder(tmp_path)
    assert Install.open(root, changes={"username": "Bert"}).prepare("Mira").request.user["name"] == "Bert"


def test_stored_for_extensions(tmp_path: Path) -> None:
    """What the stock extensions keep is in the request, unless they are off; guidance cannot be switched off."""
    stored = {
        "vectors": {"enabled_chats": True, "source": "transformers"},
        "memory": {"position": 1, "source": "main"},
        "cfg": {"global": {"guidance_scale": 2}},
        "note": {"default": "Stay brief.", "chara": [{"name": "Mira", "prompt": "Own.", "useChara": True}]},
    }
    root = folder(tmp_path, extension_settings=stored)
    request = Install.open(root).prepare("Mira").request
    assert request.settings["vectors"] == {"enabled_chats": True}
    assert request.settings["memory"] == {"position": 1, "source": "main"}
    assert request.settings["cfg"] == stored["cfg"]
    assert request.settings["character_note"] == {"text": "Own.", "use": True, "position": 0}
    assert request.authors_note["text"] == "Stay brief."
    off = Install.open(root, changes={"extension_settings": {"disabledExtensions": ["vectors", "memory"]}})
    assert not {"vectors", "memory"} & off.prepare("Mira").request.settings.keys()


def test_a_summary_is_sent(tmp_path: Path) -> None:
    """A summary that the chat keeps is in the prompt, as it is in a stock install."""
    root = folder(tmp_path)
    card(root, "Mira", chat="now")
    chat(root, "Mira", "now", "Hello.", "Hi.")
    file = root / "chats" / "Mira" / "now.jsonl"
    file.write_text(file.read_text().replace('"mes": "Hello."', '"mes": "Hello.", "extra": {"memory": "They met."}'))
    plan = Install.open(root).prepare("Mira", message="And now?").build()
    assert "[Summary: They met.]" in [message.content for message in plan.messages]


def test_extensions(tmp_path: Path) -> None:
    """Macros can ask for the extensions that are on: SillyTavern's own, and the user's."""
    root = folder(tmp_path, extension_settings={"disabledExtensions": ["memory"]})
    (root / "extensions" / "mine").mkdir(parents=True)
    asked = " ".join(f"{{{{hasExtension::{name}}}}}" for name in ("regex", "memory", "third-party/mine", "other"))
    assert Install.open(root).prepare("Mira", message=asked).build().messages[-1].content == "true false true false"
