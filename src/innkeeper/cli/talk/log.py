"""The log: what was said in ``ask`` and ``chat``, each line with the request that it came of, so that it can be explained.

One SQLite file for its owner alone. Requests are kept in parts by their hash, and a chat as a chain in which each message names
the one before it, so that a turn costs what is new in it: the card, the lore and the earlier messages are there already.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from innkeeper.content.files.private import make_private
from innkeeper.prompt.errors import FormatError, UnavailableError, UnknownNameError, Where
from innkeeper.prompt.machine import home, utc_now

if TYPE_CHECKING:
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.cli.talk.recorder import RecordedTurn
    from innkeeper.prompt import BuildRequest, ReplayBundle


_VERSION: Final = 1
_SMALL: Final = 200
"""Fields that are shorter as JSON stay in the request itself, in bytes."""

_SCHEMA: Final = """
CREATE TABLE chats (
    id INTEGER PRIMARY KEY, begun TEXT NOT NULL, updated TEXT NOT NULL, kind TEXT NOT NULL,
    character TEXT NOT NULL, user TEXT NOT NULL, model TEXT NOT NULL, address TEXT, path TEXT,
    base BLOB NOT NULL, messages BLOB NOT NULL
);
CREATE TABLE lines (
    id INTEGER PRIMARY KEY, chat INTEGER NOT NULL REFERENCES chats (id), at TEXT NOT NULL,
    model TEXT NOT NULL, address TEXT, speaker TEXT NOT NULL, said TEXT NOT NULL, reply TEXT NOT NULL, ended TEXT,
    usage TEXT NOT NULL, request BLOB NOT NULL, fingerprint TEXT NOT NULL, dialect TEXT NOT NULL, version TEXT NOT NULL
);
CREATE INDEX lines_of_chat ON lines (chat, id);
CREATE TABLE parts (hash BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
"""


class LoggedCall(NamedTuple):
    """One call of a model, as the log has it. ``usage`` are the provider's figures, ``ended`` why the reply did."""

    id: int
    chat: int
    at: str
    model: str
    address: str | None
    speaker: str
    said: str
    reply: str
    ended: str | None
    usage: Mapping[str, Any]


class LoggedChat(NamedTuple):
    """One conversation: when it began and was last changed, who spoke, with which model, in which file, in how many lines."""

    id: int
    begun: str
    updated: str
    kind: str
    character: str
    user: str
    model: str
    address: str | None
    path: str | None
    lines: int


class Kept(NamedTuple):
    """What a conversation goes on from: the request that its turns have in common, and its chat as JSON lines."""

    chat: LoggedChat
    base: BuildRequest
    messages: bytes


_LINE: Final = "SELECT id, chat, at, model, address, speaker, said, reply, ended, usage FROM lines"
_CHAT: Final = """SELECT id, begun, updated, kind, character, user, model, address, path,
    (SELECT count(*) FROM lines WHERE chat = chats.id) FROM chats"""


def log_path() -> Path:
    """Where the log is, whether it exists or not."""
    return home() / "log.db"


class TalkLog:
    """The log in one file, which is made when something is first kept. Every method may raise `UnavailableError`."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or log_path()

    # ---------------------------------------------------------------------------------------------------------- keeping

    def begin(self, kind: str, talk: TerminalChat) -> int:
        """A new conversation; returns its number."""
        now = _now()
        names = talk.conversation.character_name, talk.conversation.user_name
        row = (now, now, kind, *names, talk.handle.model, talk.handle.address)
        with self._open(write=True) as db:
            values = (*row, *self._state(db, talk))
            query = "INSERT INTO chats (begun, updated, kind, character, user, model, address, path, base, messages)"
            return int(db.execute(f"{query} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid or 0)

    def keep(self, chat: int, talk: TerminalChat, turn: RecordedTurn) -> int:
        """One more line of a conversation; returns its number."""
        from innkeeper.version import VERSION

        plan, dialect = turn.plan, turn.plan.dialect or "openai"
        usage = msgspec.json.encode(dict(turn.usage or {})).decode()
        told = (
            chat,
            _now(),
            talk.handle.model,
            talk.handle.address,
            turn.speaker,
            turn.said,
            turn.reply,
            turn.end,
            usage,
        )
        with self._open(write=True) as db:
            request = b"{}" if plan.request is None else _put_request(db, plan.request)
            columns = (
                "chat, at, model, address, speaker, said, reply, ended, usage, request, fingerprint, dialect, version"
            )
            query = f"INSERT INTO lines ({columns})"
            row = (*told, request, plan.fingerprint(dialect), dialect, VERSION)
            return int(db.execute(f"{query} VALUES ({', '.join('?' * len(row))})", row).lastrowid or 0)

    def update(self, chat: int, talk: TerminalChat) -> None:
        """What a conversation goes on from is this now."""
        with self._open(write=True) as db:
            values = (_now(), talk.handle.model, talk.handle.address, *self._state(db, talk), chat)
            db.execute(
                "UPDATE chats SET updated = ?, model = ?, address = ?, path = ?, base = ?, messages = ? WHERE id = ?",
                values,
            )

    def _state(self, db: sqlite3.Connection, talk: TerminalChat) -> tuple[str | None, bytes, bytes]:
        path = None if talk.path is None else str(talk.path.absolute())
        return path, _put_request(db, talk.base), zlib.compress(talk.chat.to_jsonl())

    def forget(self, chat: int) -> None:
        """Take a conversation out, with all of its lines and what only they held. Raises `UnknownNameError`."""
        with self._open(write=True) as db:
            if not db.execute("DELETE FROM chats WHERE id = ?", (chat,)).rowcount:
                raise _no("conversation", chat, db.execute("SELECT id FROM chats"))
            db.execute("DELETE FROM lines WHERE chat = ?", (chat,))
            used = _used_parts(db)
            gone = [row for row in db.execute("SELECT hash FROM parts") if row[0] not in used]
            db.executemany("DELETE FROM parts WHERE hash = ?", gone)
        with self._open(write=True, manual=True) as db:
            db.execute("VACUUM")

    # ---------------------------------------------------------------------------------------------------------- reading

    def chats(self, limit: int = 20) -> list[LoggedChat]:
        """The conversations, the one that was changed last first."""
        with self._open() as db:
            rows = (
                [] if db is None else db.execute(f"{_CHAT} ORDER BY updated DESC, id DESC LIMIT ?", (limit,)).fetchall()
            )
        return [LoggedChat(*row) for row in rows]

    def chat(self, number: int | None = None) -> LoggedChat:
        """A conversation; without a number the one that was changed last. Raises `UnknownNameError`, `UnavailableError`."""
        with self._open() as db:
            row = _row(db, _CHAT, number, "updated DESC, id DESC")
            if row is None:
                raise _no("conversation", number, db and db.execute("SELECT id FROM chats ORDER BY id DESC LIMIT 40"))
        return LoggedChat(*row)

    def line(self, number: int | None = None) -> LoggedCall:
        """A line; without a number the last. Raises `UnknownNameError`, `UnavailableError`."""
        with self._open() as db:
            row = _row(db, _LINE, number, "id DESC")
            if row is None:
                raise _no("line", number, db and db.execute("SELECT id FROM lines ORDER BY id DESC LIMIT 40"))
        return _line(row)

    def lines(self, chat: int) -> list[LoggedCall]:
        """The lines of a conversation, in their order."""
        with self._open() as db:
            rows = [] if db is None else db.execute(f"{_LINE} WHERE chat = ? ORDER BY id", (chat,)).fetchall()
        return [_line(row) for row in rows]

    def search(self, words: Sequence[str], limit: int = 20) -> list[LoggedCall]:
        """The newest lines that have all words, in any script and in any case."""
        wanted = [word.casefold() for word in words]
        found: list[LoggedCall] = []
        with self._open() as db:
            for row in () if db is None else db.execute(f"{_LINE} ORDER BY id DESC"):
                line = _line(row)
                text = f"{line.speaker}\n{line.said}\n{line.reply}".casefold()
                if all(word in text for word in wanted):
                    found.append(line)
                    if len(found) == limit:
                        break
        return found

    def bundle(self, number: int) -> ReplayBundle:
        """What a line was made of. Raises `UnknownNameError`."""
        from innkeeper.prompt import BuildRequest, ReplayBundle

        self.line(number)
        with self._open() as db:
            query = "SELECT request, fingerprint, dialect, version FROM lines WHERE id = ?"
            request, *rest = db.execute(query, (number,)).fetchone()
            return ReplayBundle(BuildRequest.of(_get_request(db, request, self.path)), *rest)

    def kept(self, number: int | None = None) -> Kept:
        """What a conversation goes on from. Raises `UnknownNameError`, `UnavailableError`."""
        from innkeeper.prompt import BuildRequest

        chat = self.chat(number)
        with self._open() as db:
            base, messages = db.execute("SELECT base, messages FROM chats WHERE id = ?", (chat.id,)).fetchone()
            return Kept(chat, BuildRequest.of(_get_request(db, base, self.path)), zlib.decompress(messages))

    @contextmanager
    def _open(self, *, write: bool = False, manual: bool = False) -> Iterator[Any]:
        """The file; None where there is none and nothing is to be written. What is written is kept whole or not at all."""
        if not write and not self.path.exists():
            yield None
            return
        try:
            make_private(self.path)
            db = sqlite3.connect(self.path, isolation_level=None if manual else "IMMEDIATE")
            try:
                _prepare(db, self.path)
                if manual:
                    yield db
                else:
                    with db:
                        yield db
            finally:
                db.close()
        except (sqlite3.Error, OSError, zlib.error) as error:
            hint = "innkeeper config set logging false: then nothing is kept"
            where = Where(asset=str(self.path))
            raise UnavailableError(f"the log cannot be used: {error}", where=where, hint=hint) from error


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    db.execute("PRAGMA secure_delete = ON")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        with db:
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {_VERSION}")
    elif version != _VERSION:
        hint = "use that version, or take the file away"
        raise UnavailableError("the log is of another version of Innkeeper", where=Where(asset=str(path)), hint=hint)


def _now() -> str:
    return utc_now().isoformat(timespec="milliseconds")


def _row(db: Any, query: str, number: int | None, order: str) -> Any:
    """The row of this number, or the first in this order; None where there is none."""
    where, values = ("", ()) if number is None else ("WHERE id = ?", (number,))
    return db and db.execute(f"{query} {where} ORDER BY {order} LIMIT 1", values).fetchone()


def _line(row: Sequence[Any]) -> LoggedCall:
    return LoggedCall._make((*row[:-1], msgspec.json.decode(row[-1])))


def _no(what: str, number: int | None, ids: Any) -> UnavailableError | UnknownNameError:
    if number is None or ids is None:
        return UnavailableError("nothing has been said yet", hint="innkeeper ask CARD 'Hello'")
    return UnknownNameError(what, str(number), [str(row[0]) for row in ids], hint="innkeeper log list")


# ------------------------------------------------------------------------------------------------------------- requests


def _put(db: sqlite3.Connection, data: bytes) -> str:
    """Keep a part, unless it is there already; returns its name."""
    name = sha256(data).digest()[:16]
    db.execute("INSERT OR IGNORE INTO parts VALUES (?, ?)", (name, zlib.compress(data)))
    return name.hex()


def _put_request(db: sqlite3.Connection, request: BuildRequest) -> bytes:
    """Keep a request: its larger fields and its messages as parts; returns what names them."""
    plain = request.to_dict()
    last: str | None = None
    for message in plain.pop("history", ()):
        last = _put(db, msgspec.json.encode([last, message]))
    parts = {}
    for name, value in list(plain.items()):
        data = msgspec.json.encode(value)
        if len(data) > _SMALL:
            parts[name] = _put(db, data)
            del plain[name]
    return msgspec.json.encode({"plain": plain, "parts": parts, "history": last})


def _get(db: sqlite3.Connection, name: str, path: Path) -> Any:
    row = db.execute("SELECT data FROM parts WHERE hash = ?", (bytes.fromhex(name),)).fetchone()
    if row is None:
        raise FormatError("a part of this line is not in the log", where=Where(asset=str(path)))
    return msgspec.json.decode(zlib.decompress(row[0]))


def _get_request(db: sqlite3.Connection, kept: bytes, path: Path) -> dict[str, Any]:
    """The fields of a request that `_put_request` kept."""
    facts = msgspec.json.decode(kept)
    fields = {**facts["plain"], **{name: _get(db, part, path) for name, part in facts["parts"].items()}}
    history = []
    last = facts["history"]
    while last is not None:
        last, message = _get(db, last, path)
        history.append(message)
    return {**fields, **({"history": history[::-1]} if history else {})}


def _used_parts(db: sqlite3.Connection) -> set[bytes]:
    """The parts that conversations and lines name, and those that these name."""
    used: set[bytes] = set()
    for (kept,) in db.execute("SELECT base FROM chats UNION ALL SELECT request FROM lines"):
        facts = msgspec.json.decode(kept)
        used.update(bytes.fromhex(part) for part in facts["parts"].values())
        last = facts["history"]
        while last is not None and bytes.fromhex(last) not in used:
            used.add(bytes.fromhex(last))
            row = db.execute("SELECT data FROM parts WHERE hash = ?", (bytes.fromhex(last),)).fetchone()
            last = None if row is None else msgspec.json.decode(zlib.decompress(row[0]))[0]
    return used
