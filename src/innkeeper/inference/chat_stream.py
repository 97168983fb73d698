"""ChatStream: the pieces of an answer as an iterator that ends with the whole reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from innkeeper.prompt import UsageError

if TYPE_CHECKING:
    from innkeeper.inference.chat import ChatDecoder, ChatReply

__all__ = ["ChatStream", "Progress"]


class Progress:
    """How far a streamed answer has come; shared by the stream and its asynchronous twin, which set ``_ended``."""

    decoder: ChatDecoder | None = None
    _ended = False

    @property
    def partial(self) -> str:
        """The text so far."""
        return self.arrived or ""

    @property
    def arrived(self) -> str | None:
        """The text so far; ``None`` while there is no answer at all."""
        return None if self.decoder is None else self.decoder.partial

    @property
    def reply(self) -> ChatReply:
        """The whole answer. Raises `UsageError` while the stream has not ended."""
        if not self._ended or self.decoder is None:
            msg = "the stream has not ended"
            raise UsageError(msg, hint="iterate to its end first; `partial` is the text so far")
        return self.decoder.reply()


class ChatStream(Progress):
    """Iterate over it for the text as it comes; when it has ended, `reply` is the whole answer.

    Leaving it early (`close`, or the end of a ``with`` block) closes the connection, which stops the provider.
    """

    def __init__(self, pieces: Callable[[ChatStream], Iterator[str]]) -> None:
        self._pieces: Any = pieces(self)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            piece: str = next(self._pieces)
        except StopIteration:
            self._ended = True
            raise
        return piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop here. What came so far stays in `partial`."""
        self._pieces.close()
