"""Saving: writers that leave either the old file or the whole new one.

The bytes go to a file beside the target, reach the disk, and then take its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import IO

from innkeeper.content.character import Character
from innkeeper.content.chat import EMPTY_HEADER, LINE_FACTOR, ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.errors import LIMITS, MissingFileError, OutputExistsError
from innkeeper.content.files.format import CardFile, Formats
from innkeeper.content.files.formats import FORMATS, card_bytes
from innkeeper.content.files.private import is_device, one_writer
from innkeeper.content.json.text import decode_json, encode_json
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt.errors import InputError, UsageError, Where


def save_card(
    path: str | os.PathLike[str],
    card: CardFile | Character,
    *,
    image: bytes | None = None,
    force: bool = False,
    formats: Formats = FORMATS,
) -> None:
    """Write a card; the extension says in which format (``.json``, ``.png``, ``.charx``).

    Raises:
        OutputExistsError: the file exists and ``force`` is off.
        UsageError: an extension that no card is written to.
    """
    extension = Path(path).suffix.lower().removeprefix(".")
    written = {name: each.name for each in formats.values() if each.write_card for name in each.extensions}
    if extension not in written:
        hint = f"use {', '.join(f'.{name}' for name in written)}"
        raise UsageError(f"no card is written to a {extension or 'nameless'} file", hint=hint)
    file = CardFile(card, "json") if isinstance(card, Character) else card
    save_bytes(path, card_bytes(file, written[extension], image=image, formats=formats), force=force)


def save_lorebook(path: str | os.PathLike[str], book: Lorebook, *, force: bool = False) -> None:
    """Write a lorebook as JSON, in its own spelling. Raises `OutputExistsError`."""
    save_bytes(path, book.to_json(), force=force)


def save_chat(path: str | os.PathLike[str], chat: ChatLog, *, force: bool = False) -> None:
    """Write a chat as JSON lines. Raises `OutputExistsError`."""
    save_bytes(path, chat.to_jsonl(), force=force)


def append_to_chat(path: str | os.PathLike[str], *messages: ChatMessage, chat: ChatLog | None = None) -> None:
    """Add messages to the end of a chat file, in one write; a new file begins with the header of ``chat``.

    A last line that an earlier write left unfinished is removed first.

    Raises:
        MissingFileError: the file cannot be written.
    """
    name = os.fspath(path)
    lines = b"".join(encode_json(message.raw) + b"\n" for message in messages)
    with _output_errors(name), Path(name).open("ab+") as file:
        if file.seek(0, os.SEEK_END) == 0:
            header = chat.header if chat is not None and chat.header is not None else EMPTY_HEADER
            lines = encode_json(header) + b"\n" + lines
        else:
            lines = _joint(file) + lines
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def locked_for_writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else that asks so writes beside this file meanwhile. Raises `MissingFileError`."""
    folder = Path(path).resolve().parent
    with ExitStack() as stack:
        if folder.is_dir():
            with _output_errors(os.fspath(path)):
                stack.enter_context(one_writer(folder))
        yield


def _joint(file: IO[bytes]) -> bytes:
    """Return what must separate the file's last line from a new one; an unfinished last line is cut off."""
    end = file.seek(0, os.SEEK_END)
    start = max(0, end - int(LIMITS.message_bytes * LINE_FACTOR))
    file.seek(start)
    tail = file.read()
    if tail.endswith(b"\n"):
        return b""
    if start > 0 and b"\n" not in tail:
        return b"\n"
    last = tail.rpartition(b"\n")[2]
    try:
        decode_json(last)
    except InputError:
        file.truncate(end - len(last))
        return b""
    return b"\n"


def save_bytes(path: str | os.PathLike[str], data: bytes, *, force: bool = False) -> None:
    """Write a file whole or not at all; a device or a pipe takes the bytes and stays what it is.

    Raises:
        OutputExistsError: a file exists and ``force`` is off.
        MissingFileError: it cannot be written there.
    """
    name = os.fspath(path)
    target = Path(name)
    with _output_errors(name):
        if is_device(target):
            target.write_bytes(data)
            return
        if not force and target.exists():
            raise OutputExistsError(f"{name!r} exists already", hint="choose another name; --force overwrites it")
        draft = target.with_name(f".{target.name}.{os.getpid()}.{get_ident()}.tmp")
        try:
            _write_through(draft, data)
            if not force:
                _claim(draft, target)
            draft.replace(target)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _claim(draft: Path, target: Path) -> None:
    """Have the target be this draft, unless somebody else has made one since it was looked for. Raises `OutputExistsError`."""
    try:
        target.hardlink_to(draft)
    except FileExistsError:
        raise OutputExistsError(f"{str(target)!r} exists already", hint="somebody else has just made it") from None
    except OSError:  # a disk without links
        return


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _output_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MissingFileError(f"cannot write {name!r}: {reason}", where=Where(asset=name)) from error
