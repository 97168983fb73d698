"""SillyTavern's counts, for builds that must cut where it cuts: its tokenizers by its names, with its rule for messages.

Only what it counts by is reproduced: a tokenizer whose vocabulary is not installed, or that nobody may hand on, is refused
(`TokenizerUnavailableError`), never replaced by another. (vectors ``tokens``; sillytavern.md 27, 47, 48.)
"""

from functools import cache
from types import MappingProxyType
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.text import scalar_text
from innkeeper.tokens.counter import Counter
from innkeeper.tokens.engines.engine import TokenizerUnavailableError
from innkeeper.tokens.engines.heuristic import Utf8Bytes
from innkeeper.tokens.engines.loading import available, engine_of
from innkeeper.tokens.framing import FRAMINGS, Framing
from innkeeper.tokens.table.vocabulary import VOCABULARIES

_BYTES: Final = "bytes/3.35"
_TIKTOKEN: Final = FRAMINGS["sillytavern-tiktoken"]
_LORE: Final = 6
_WEB: Final = FRAMINGS["sillytavern-web"]
_PIECES: Final = FRAMINGS["sillytavern-sentencepiece"]


@cache
def _counter_of(tokenizer: str) -> Counter:
    return Counter(Utf8Bytes() if tokenizer == _BYTES else engine_of(VOCABULARIES[tokenizer]))


class SillyTavernTokenizer(msgspec.Struct, frozen=True):
    """A tokenizer as SillyTavern names it.

    ``tokenizer``: the vocabulary's name; empty where no package carries it. ``framing``: its rule for messages;
    ``reason``: why it is not here.
    """

    name: str
    tokenizer: str
    framing: Framing
    reason: str = ""

    @property
    def available(self) -> bool:
        """Whether it can be counted here."""
        return self.tokenizer == _BYTES or (bool(self.tokenizer) and available(VOCABULARIES[self.tokenizer]))

    def counter(self) -> Counter:
        """A counter that counts by this tokenizer, whatever the model.

        Raises:
            TokenizerUnavailableError: its vocabulary is not here.
        """
        if not self.tokenizer:
            raise TokenizerUnavailableError(self.name, self.reason)
        return _counter_of(self.tokenizer)

    def count_text(self, text: str) -> int:
        """Tokens of bare text, as for text completion. Raises `TokenizerUnavailableError`."""
        counter = self.counter()
        refused = (
            any(token in text for token in counter.special_tokens(self.name)) if self.framing.refuses_special else 0
        )
        return 0 if refused else counter.count(scalar_text(text), self.name)

    def count_lore(self, text: str) -> int:
        """Tokens of lore against its budget in a chat: as a message, 6 more than the text where tiktoken counts.

        (sillytavern.md 27; cases ``budget-*`` of ``world_info``.) Raises `TokenizerUnavailableError`.
        """
        if self.framing is _TIKTOKEN:
            return self.count_text(text) + _LORE
        if self.framing.joiner is None:
            return self.count_text(text)
        return self.count_alone({"role": "system", "content": text})

    def count_message(self, message: Any) -> int:
        """Tokens a message adds to a prompt. Raises `TokenizerUnavailableError`."""
        return self.framing.count_message(message, self.counter(), self.name)

    def count_alone(self, message: Any) -> int:
        """Tokens of a message sent to SillyTavern's counter alone. Raises `TokenizerUnavailableError`."""
        return self.framing.count_alone(message, self.counter(), self.name)


_NOBODY: Final = "no package carries its vocabulary under a free licence"

SILLYTAVERN_TOKENIZERS: Final = MappingProxyType(
    {
        each.name: each
        for each in (
            SillyTavernTokenizer("none", _BYTES, FRAMINGS["none"]),
            SillyTavernTokenizer("gpt-4o", "o200k_base", _TIKTOKEN),
            SillyTavernTokenizer("gpt-4", "cl100k_base", _TIKTOKEN),
            SillyTavernTokenizer("gpt-3.5-turbo", "cl100k_base", _TIKTOKEN),
            SillyTavernTokenizer("openai", "cl100k_base", _TIKTOKEN),
            SillyTavernTokenizer("gpt2", "gpt2", _TIKTOKEN),
            SillyTavernTokenizer("claude", "claude-2", FRAMINGS["sillytavern-claude"]),
            SillyTavernTokenizer("llama3", "llama-3", _WEB),
            SillyTavernTokenizer("mistral", "mistral-v1", _PIECES),
            SillyTavernTokenizer("llama", "", _PIECES, _NOBODY),
            SillyTavernTokenizer("gemma", "", _PIECES, _NOBODY),
            SillyTavernTokenizer("yi", "", _PIECES, _NOBODY),
            SillyTavernTokenizer("jamba", "", _PIECES, _NOBODY),
            SillyTavernTokenizer("nerdstash", "", _PIECES, _NOBODY),
            SillyTavernTokenizer("nerdstash_v2", "", _PIECES, _NOBODY),
        )
    }
)
"""SillyTavern's tokenizers by its names."""


def sillytavern_tokenizer(name: str) -> SillyTavernTokenizer:
    """The tokenizer SillyTavern calls ``name``. Raises `UnknownNameError`."""
    try:
        return SILLYTAVERN_TOKENIZERS[name]
    except KeyError:
        raise UnknownNameError("SillyTavern tokenizer", name, SILLYTAVERN_TOKENIZERS) from None


_MESSAGES: Final = ("gpt-4o", "gpt-4", "claude", "llama3", "llama", "mistral", "gemma", "yi", "jamba")
_PLAIN: Final = (
    "gpt2", "openai", "llama", "llama3", "mistral", "gemma", "yi", "jamba", "claude", "nerdstash", "nerdstash_v2", "none",
)  # fmt: skip
"""The tokenizers SillyTavern counts chat messages by, and bare text by."""


def counts(text: str) -> dict[str, Any]:
    """SillyTavern's counts of a text in tokens, by tokenizer: ``message``, ``named`` (an example message) and ``plain``.

    Tokenizers whose vocabulary is not here are not counted: their names are under ``unavailable``.
    """
    message = {"role": "user", "content": text}
    named = {"role": "system", "content": text, "name": "example_user"}
    here = [SILLYTAVERN_TOKENIZERS[name] for name in _MESSAGES if SILLYTAVERN_TOKENIZERS[name].available]
    return {
        "message": {each.name: each.count_alone(message) for each in here},
        "named": {each.name: each.count_alone(named) for each in here},
        "plain": {
            name: SILLYTAVERN_TOKENIZERS[name].count_text(text)
            for name in _PLAIN
            if SILLYTAVERN_TOKENIZERS[name].available
        },
        "unavailable": sorted(name for name in {*_MESSAGES, *_PLAIN} if not SILLYTAVERN_TOKENIZERS[name].available),
    }
