"""ModelRows: rows to train on in the own template of a model on this machine, with its own token numbers.

The model itself writes the text of each prompt and reads it, so that a row is what it reads when it answers. A turn that counts
ends with the token by which the model ends its turns, where its template has one: it learns to stop as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from innkeeper.data.batch import BatchSettings, RowBuilder, table_of
from innkeeper.data.training import IGNORED, TRAINED, trained_parts
from innkeeper.inference.adapters.adapter import ModelRequest
from innkeeper.prompt import Plan, UsageError

_NEXT: Final = {"role": "user", "content": "a"}
"""A turn that comes after the last one, so that the template ends that."""


class TemplatedModel(Protocol):
    """A model that says how it reads messages: a `LocalModel`."""

    def prompt_of(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return messages in its template."""
        ...

    def pieces_of(self, text: str, *, special: bool = True) -> list[tuple[int, bytes]]:
        """Return the tokens of a text."""
        ...


class ModelRows:
    """An engine of `run_batch` for the form ``training``. ``request`` makes what the model is sent for a plan."""

    def __init__(self, model: TemplatedModel, request: Callable[[Plan], ModelRequest]) -> None:
        self._model, self._request = model, request
        self._special: dict[bytes, bool] = {}

    def __call__(self, shards: Iterable[Any], settings: BatchSettings) -> Iterator[Any]:
        """Yield the shards in order."""
        builder = RowBuilder(settings, training=self.row)
        for table in shards:
            yield table_of([builder.built(row) for row in table.to_pylist()], settings)

    def row(self, plan: Plan) -> dict[str, Any]:
        """Return a plan's text, token numbers and mask. Raises `UsageError` where the tokens do not make up the text."""
        text = self._text(self._request(plan).body["messages"])
        pieces, raw = self._model.pieces_of(text), text.encode()
        ahead = len(b"".join(piece for _, piece in pieces)) - len(
            raw
        )  # what stands before the text: the first token of all
        if ahead < 0 or not b"".join(piece for _, piece in pieces).endswith(raw):
            raise UsageError("the model's tokens do not make up its text", hint="train on the text alone: --form text")
        return {
            "text": text,
            "tokens": [token for token, _ in pieces],
            "mask": self._mask(list(trained_parts(plan, text)), [piece for _, piece in pieces], ahead),
        }

    def _text(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The prompt in the template; an answer at its end is ended as one that another turn follows."""
        text = self._model.prompt_of(messages)
        if messages[-1]["role"] != "assistant":
            return text
        longer = self._model.prompt_of([*messages, _NEXT])
        pieces = self._model.pieces_of(longer[len(text) :]) if longer.startswith(text) else []
        ends = [text + piece.decode("utf-8", "replace") for _, piece in pieces[:2] if self._is_special(piece)]
        return next(filter(longer.startswith, ends), text)  # the first token may stand before any prompt

    def _mask(self, parts: Sequence[tuple[str, bool]], pieces: Sequence[bytes], ahead: int) -> list[int]:
        """1 for each token of a part that counts, and for the special token right behind one; 0 for all others."""
        counts, at = set[int](), 0
        for part, is_trained in parts:
            size = len(part.encode())
            counts |= set(range(at, at + size)) if is_trained else set()
            at += size
        mask, at, before = list[int](), -ahead, IGNORED
        for piece in pieces:
            is_end = before == TRAINED and at not in counts and self._is_special(piece)
            before = TRAINED if at in counts and at + len(piece) - 1 in counts else IGNORED
            mask.append(TRAINED if is_end else before)
            at += len(piece)
        return mask

    def _is_special(self, piece: bytes) -> bool:
        """Whether a token stands for something that no plain text is."""
        known = self._special.get(piece)
        if known is None:
            text = piece.decode("utf-8", "replace")
            plain = self._model.pieces_of(text, special=False)
            known = self._special[piece] = bool(piece.strip()) and len(plain) > 1
        return known
