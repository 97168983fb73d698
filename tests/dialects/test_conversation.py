"""Conversation: choices that are checked, and what all families do alike."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS, convert
from innkeeper.prompt import ConfigError, InnkeeperError, UsageError
from tests.dialects.talks import call, kinds, message, said

OPENAI = DIALECTS["openai"]


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"system": "top"}, "keep, hoist, leading, inline_user"),
        ({"repair": "yes"}, "True, False"),
        ({"repair": 1}, "True, False"),
        ({"names": True}, "field, prefix, drop"),
        ({"names": ["field"]}, "field, prefix, drop"),
    ],
    ids=["system", "repair", "number", "flag", "list"],
)
def test_choices_are_checked(options: dict[str, Any], allowed: str) -> None:
    """A choice that does not exist raises, naming dialect and option, and lists those that do."""
    with pytest.raises(ConfigError) as caught:
        convert([message()], **options)
    assert allowed in str(caught.value.hint)
    assert str(caught.value).startswith("openai: option ")
    assert isinstance(caught.value, ConfigError)
    assert isinstance(caught.value, InnkeeperError)


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "text", "cohere"])
def test_misspelt_options_of_convert(dialect: str) -> None:
    """There are no notes to say it in: an option that is not known raises, with the nearest that is."""
    with pytest.raises(UsageError, match="'repiar' is not known") as caught:
        convert([message()], dialect, repiar=True)
    assert dialect in {"text", "cohere"} or caught.value.hint == "did you mean 'repair'?"
    convert([message()], dialect, temperature=0.5)


@pytest.mark.parametrize("dialect", ["mistral", "ollama", "gemini"])
def test_bare_thoughts_are_thoughts(dialect: str) -> None:
    """What servers give as ``reasoning_content`` goes where the provider has thoughts; as it came where it is asked for so."""
    thought = message("assistant", "Four.", reasoning_content="2 + 2")
    body = DIALECTS[dialect].messages([message(), thought, message()], {}).body
    both = message("assistant", "Four.", reasoning="2 + 2")
    assert body == DIALECTS[dialect].messages([message(), both, message()], {}).body
    assert "2 + 2" in str(body)


def test_bare_thoughts_as_they_came() -> None:
    """Chat Completions has no place for thoughts: they are noted, or sent under the key that is asked for."""
    thought = message("assistant", "Four.", reasoning_content="2 + 2")
    assert kinds(OPENAI.messages([message(), thought, message()], {}).notes) == ["loss"]
    (_, sent) = OPENAI.messages([message(), thought], {"message_keys": ["reasoning_content"]}).body
    assert sent["reasoning_content"] == "2 + 2"


def test_absent_choices_are_defaults() -> None:
    """``None`` is as good as nothing."""
    options = {"system": None, "repair": None, "names": None, "filler": None, "message_keys": None}
    payload = OPENAI.messages([message()], options)
    assert payload.body == [{"role": "user", "content": "Hi"}]
    assert payload.notes == ()


def test_an_option_that_is_not_known() -> None:
    """A misspelt option has no effect, and a note offers the one that was meant; options of requests are no matter."""
    payload = OPENAI.messages([message()], {"sytem": "hoist", "temperature": 1, "extra": {}, "max_output_tokens": 1})
    assert kinds(payload.notes) == ["ignored"]
    assert payload.notes[0].hint == "did you mean 'system'?"


def test_calls_of_users_are_lost() -> None:
    """Only the assistant calls tools and thinks."""
    payload = OPENAI.messages([message("user", "Hi", tool_calls=[call()], reasoning="hm")], {})
    assert payload.body == [{"role": "user", "content": "Hi"}]
    assert said(payload.notes, "those of the assistant").kind == "loss"


@pytest.mark.parametrize("value", [False, None, "", 0, (), {}])
def test_metadata_that_says_nothing_is_not_missed(value: Any) -> None:
    """A key without a value is no loss."""
    assert OPENAI.messages([message("user", "Hi", metadata={"other": value})], {}).notes == ()


def test_one_note_for_many_messages() -> None:
    """The same fact about many messages is one note that lists them, shortened for people, whole as data."""
    talk = [message("user", "Hi", mood="calm") for _ in range(12)]
    (note,) = OPENAI.messages(talk, {}).notes
    assert note.message.endswith("(messages 0, 1, 2, 3, 4, 5, 6, 7 and 4 more)")
    assert note.data["messages"] == tuple(range(12))
    assert note.where is None


def test_joined_messages_keep_what_they_had() -> None:
    """Messages that are joined for the sake of roles keep media where they stand, marks and other metadata."""
    image = {"kind": "image", "url": "https://x"}
    talk = [message("user", "a", attachments=[image], refusal="r"), message("user", "b", attachments=[image])]
    payload = OPENAI.messages(talk, {"repair": True, "message_keys": ["cache_control"]})
    part = {"type": "image_url", "image_url": {"url": "https://x"}}
    content = [{"type": "text", "text": "a"}, part, {"type": "text", "text": "b"}, part]
    assert payload.body == [{"role": "user", "content": content, "refusal": "r"}]
