"""Text completion at addresses of a server's own: the prompt of the dialect ``text``, with options by the server's names."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Message

TALK = [Message("system", "S"), Message("user", "Hello")]
OPTIONS: dict[str, Any] = {
    "max_tokens": 9,
    "temperature": 0,
    "stop": ["\n"],
    "repetition_penalty": 1.1,
    "seed": 7,
    "typical_p": 0.9,
    "instruct": "chatml",
    "stream": True,
}

BODIES: dict[str, dict[str, Any]] = {
    "llamacpp": {
        "stop": ["\n", "<|im_end|>"],
        "n_predict": 9,
        "temperature": 0,
        "typical_p": 0.9,
        "seed": 7,
        "repeat_penalty": 1.1,
        "stream": True,
    },
    "koboldcpp": {
        "stop_sequence": ["\n", "<|im_end|>"],
        "max_length": 9,
        "temperature": 0,
        "typical": 0.9,
        "sampler_seed": 7,
        "rep_pen": 1.1,
    },
}


@pytest.mark.parametrize("dialect", BODIES)
def test_body(dialect: str) -> None:
    """The prompt is that of ``text``; no model is named, since one is loaded, and nothing is lost."""
    payload = DIALECTS[dialect].request(TALK, model="m", options=OPTIONS)
    text = DIALECTS["text"].request(TALK, model="m", options=OPTIONS).body
    assert payload.body == {"prompt": text["prompt"], **BODIES[dialect]}
    assert payload.notes == ()


@pytest.mark.parametrize("dialect", BODIES)
def test_without_stops(dialect: str) -> None:
    """Where nothing stops it, no field says so."""
    assert DIALECTS[dialect].request(TALK, model=None, options={}).body == {"prompt": "S\nHello"}
