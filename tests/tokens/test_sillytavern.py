"""SillyTavern's counts: equal to those of the original, or refused; never something else."""

from typing import Any

import msgspec
import pytest

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.tokens import SILLYTAVERN_TOKENIZERS, TokenizerUnavailableError, sillytavern, sillytavern_tokenizer
from tests import shared

COUNTS = msgspec.json.decode((shared.VECTORS / "silly/tokens/counts.json").read_bytes())

COUNTED = ("none", "openai", "gpt-4o", "gpt-4", "claude", "llama3", "mistral", "gpt2")
NOBODY_HAS = ("llama", "gemma", "yi", "jamba", "nerdstash", "nerdstash_v2")


def _asked(kind: str, text: str) -> Any:
    """What the original was asked to count (see the description of the cases)."""
    return {
        "message": {"role": "user", "content": text},
        "named": {"role": "system", "content": text, "name": "example_user"},
        "plain": text,
    }[kind]


@pytest.mark.parametrize("case", COUNTS, ids=lambda case: case["name"])
def test_counts_agree(case: dict[str, Any]) -> None:
    """Each tokenizer that is here counts text, message and named message as the original does."""
    for kind, counts in case["expected"].items():
        for name, count in counts.items():
            tokenizer = sillytavern_tokenizer(name)
            if tokenizer.available:
                count_it = tokenizer.count_text if kind == "plain" else tokenizer.count_alone
                assert (kind, name, count_it(_asked(kind, case["input"]["text"]))) == (kind, name, count)


@pytest.mark.parametrize("name", COUNTED)
def test_these_are_counted(name: str) -> None:
    """The tokenizers whose vocabularies can be installed are here in the test environment."""
    assert sillytavern_tokenizer(name).available


@pytest.mark.parametrize("name", NOBODY_HAS)
def test_the_others_are_refused(name: str) -> None:
    """A vocabulary that nobody may hand on is refused, not replaced."""
    tokenizer = sillytavern_tokenizer(name)
    assert not tokenizer.available
    with pytest.raises(TokenizerUnavailableError):
        tokenizer.count_text("lamp")
    with pytest.raises(TokenizerUnavailableError):
        tokenizer.count_message({"role": "user", "content": "lamp"})


def test_every_name_of_the_cases_is_known() -> None:
    """The table has all tokenizers the cases name."""
    named = {name for case in COUNTS for counts in case["expected"].values() for name in counts}
    assert named <= set(SILLYTAVERN_TOKENIZERS)
    with pytest.raises(UnknownNameError):
        sillytavern_tokenizer("no-such")


def test_cost_in_a_prompt() -> None:
    """Inside a prompt a message costs 2 less than alone; Claude's the same."""
    message = {"role": "user", "content": "hello"}
    for name, less in (("gpt-4o", 2), ("llama3", 2), ("claude", 0)):
        tokenizer = sillytavern_tokenizer(name)
        assert tokenizer.count_message(message) == tokenizer.count_alone(message) - less


def test_lore_costs_as_a_message() -> None:
    """Lore costs its text and 6 with tiktoken, its text alone without a tokenizer, and a joined message otherwise."""
    text = "The lamp is lit.\n"
    for name, more in (("gpt-4o", 6), ("gpt-4", 6), ("none", 0), ("llama3", 2)):
        tokenizer = sillytavern_tokenizer(name)
        assert tokenizer.count_lore(text) == tokenizer.count_text(text) + more


def test_the_counter_ignores_models() -> None:
    """The rule's counter counts by its tokenizer for any model and for none."""
    some = sillytavern_tokenizer("none").counter()
    assert some.count("x" * 10) == some.count("x" * 10, "gpt-4o") == 3


@pytest.mark.parametrize("text", ["", "hello", "<|endoftext|>", "\ud800"])
def test_counts_name_what_is_not_here(text: str) -> None:
    """A tokenizer is counted or named as unavailable, never both, and never guessed."""
    found = sillytavern.counts(text)
    unavailable = set(found["unavailable"])
    assert unavailable == {name for name, each in SILLYTAVERN_TOKENIZERS.items() if not each.available}
    assert not unavailable & {*found["message"], *found["named"], *found["plain"]}
    assert found["message"].keys() == found["named"].keys()
    assert found["plain"]["none"] == SILLYTAVERN_TOKENIZERS["none"].count_text(text)
