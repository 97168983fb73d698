"""Instruct: formats by name or as data, the speaker's name in them."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS, INSTRUCTS, Instruct, convert
from innkeeper.prompt import ConfigError, Tool, UnknownNameError
from tests.dialects.talks import call, kinds, message, said

TALK = [
    message("system", "S"),
    message("user", "Hi", name="Bob"),
    message("assistant", "Yes", name="Al"),
    message("user", "Go"),
]


def prompt(**options: Any) -> str:
    """The prompt of the talk above."""
    made: str = convert(TALK, "text", **options)["prompt"]
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "chatml",
            (
                "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes<|im_end|>\n"
                "<|im_start|>user\nGo<|im_end|>\n<|im_start|>assistant\n"
            ),
        ),
        (
            "llama-3",
            (
                "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
                "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                "<|start_header_id|>assistant<|end_header_id|>\n\nYes<|eot_id|>"
                "<|start_header_id|>user<|end_header_id|>\n\nGo<|eot_id|>"
                "<|start_header_id|>assistant<|end_header_id|>\n\n"
            ),
        ),
        (
            "gemma",
            (
                "<bos><start_of_turn>user\nS<end_of_turn>\n<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYes"
                "<end_of_turn>\n<start_of_turn>user\nGo<end_of_turn>\n<start_of_turn>model\n"
            ),
        ),
        ("mistral", "<s>[INST] S [/INST][INST] Hi [/INST] Yes</s>[INST] Go [/INST]"),
        ("alpaca", "S\n\n### Instruction:\nHi\n\n### Response:\nYes\n\n### Instruction:\nGo\n\n### Response:\n"),
        ("vicuna", "S\n\nUSER: Hi\nASSISTANT: Yes</s>\nUSER: Go\nASSISTANT:"),
        ("names", "S\nBob: Hi\nAl: Yes\nUser: Go\nAssistant:"),
    ],
)
def test_formats(name: str, expected: str) -> None:
    """Each format writes a conversation as its model was trained to read it."""
    assert prompt(instruct=name) == expected


def test_every_format_is_tested() -> None:
    """The cases above cover all formats by name."""
    assert set(INSTRUCTS) == {"chatml", "llama-3", "gemma", "mistral", "alpaca", "vicuna", "names"}


def test_a_format_as_data() -> None:
    """A mapping is a format: first answer and last question may differ, stop strings carry names."""
    form = {
        "user": ("<u>", "</u>"),
        "assistant": ("<a>", "</a>"),
        "first_assistant": "<first>",
        "last_user": "<last>",
        "reply": "<open {{name}}>",
        "stop": ("<{{name}}>",),
        "user_name": "You",
        "assistant_name": "Me",
    }
    made = convert(TALK, "text", instruct=form)
    assert made == {"prompt": "<u>S</u><u>Hi</u><first>Yes</a><last>Go</u><open Me>", "stop_sequences": ["<You>"]}
    assert convert(TALK, "text", instruct=Instruct.of(form)) == made


def test_who_speaks_next() -> None:
    """The prompt may open the user's words instead of an answer, or nothing."""
    assert prompt(instruct="vicuna", reply="user").endswith("Go\nUSER: ")
    assert prompt(instruct="vicuna", reply="none").endswith("Go\n")


def test_an_answer_is_continued() -> None:
    """A last answer is left open, unless somebody else is to speak."""
    talk = [*TALK, message("assistant", "Well,")]
    assert convert(talk, "text", instruct="chatml")["prompt"].endswith("<|im_start|>assistant\nWell,")
    closed = convert(talk, "text", instruct="chatml", reply="user")["prompt"]
    assert closed.endswith("Well,<|im_end|>\n<|im_start|>user\n")


def test_a_tool_result_without_a_place() -> None:
    """A format without a tool's marks writes its result like a user's message, and says so."""
    from innkeeper.dialects import DIALECTS

    payload = DIALECTS["text"].messages([message("tool", "1")], {"instruct": "alpaca"})
    assert payload.body["prompt"].startswith("### Instruction:\n1")
    assert said(payload.notes, "like a user's").kind == "repair"


def test_bad_formats() -> None:
    """An unknown name and a mapping of another shape are typed errors."""
    with pytest.raises(UnknownNameError) as unknown:
        prompt(instruct="chatlm")
    assert "chatml" in str(unknown.value.hint)
    for form in ({"user": "x"}, {"user": ("", ""), "assistant": ("", ""), "more": 1}, 7):
        with pytest.raises(ConfigError):
            prompt(instruct=form)


TEXT = DIALECTS["text"]
TEXT_TALK = [message("system", "S"), message("user", "Hi"), message("assistant", ""), message("user", " ")]


def test_plain() -> None:
    """Texts that are not empty, one a line; white space is text."""
    assert convert(TEXT_TALK, "text") == {"prompt": "S\nHi\n ", "stop_sequences": []}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"stop": "x"}, ["x"]),
        ({"stop": ["x", "x", "", None, 7]}, ["x", "7"]),
        ({"stop_sequences": ("x",)}, ["x"]),
        ({"stop_sequences": ["y"], "stop": ["x"]}, ["x"]),
        ({"stop": 7}, []),
        ({"instruct": "chatml", "stop": ["x"]}, ["x", "<|im_end|>"]),
    ],
)
def test_stops(options: dict[str, Any], expected: list[str]) -> None:
    """Stop strings in any spelling, doubles once, those of the instruct format after the caller's."""
    assert convert(TEXT_TALK, "text", **options)["stop_sequences"] == expected


def test_system_text_at_the_top() -> None:
    """System modes hold for text too."""
    talk = [message("user", "Hi"), message("system", "S")]
    assert convert(talk, "text", system="hoist")["prompt"] == "S\nHi"


def test_repair_joins_neighbours() -> None:
    """With ``repair`` neighbouring messages of one role are one, so that a format marks them once."""
    talk = [message("user", "Hi"), message("user", "there")]
    assert convert(talk, "text", instruct="vicuna", repair=True)["prompt"] == "USER: Hi\n\nthere\nASSISTANT:"


def test_losses() -> None:
    """Names, calls, media and tools have no place in plain text."""
    talk = [
        message("user", "Hi", name="Bob", attachments=[{"kind": "image", "url": "https://x"}]),
        message("assistant", "", tool_calls=[call()]),
        message("tool", "1", tool_call_id="call_1"),
    ]
    payload = TEXT.request(talk, model=None, options={}, tools=[Tool("add")])
    assert payload.body == {"prompt": "Hi\n1"}
    assert kinds(payload.notes) == ["loss"] * 4
    assert [len(said(payload.notes, word).data) for word in ("name", "image", "tool calls", "tools are")] == [
        2,
        2,
        2,
        1,
    ]


def test_request() -> None:
    """The body of a completion request: prompt, stop strings of both sources, samplers by their names."""
    options = {"stop": ["x"], "max_tokens": 9, "min_p": 0.1, "instruct": "chatml", "response_format": "json"}
    payload = TEXT.request([message("user", "Hi")], model="m", options=options)
    assert list(payload.body.items()) == [
        ("model", "m"),
        ("prompt", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"),
        ("stop", ["x", "<|im_end|>"]),
        ("max_tokens", 9),
        ("min_p", 0.1),
    ]
    assert [note.message for note in payload.notes] == ["text: option 'response_format' is not sent"]


def test_a_bad_reply() -> None:
    """Somebody who cannot speak next is a typed error that names who can."""
    with pytest.raises(ConfigError) as caught:
        convert(TEXT_TALK, "text", reply="system")
    assert "assistant, user, none" in str(caught.value.hint)
