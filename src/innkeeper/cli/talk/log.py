"""The log of ``ask`` and ``chat``: each call of a model with its request, so that it can be explained.

One SQLite file that only its owner may read. Requests are kept in parts by their hash, and a chat as a chain in which each
message names the previous one, so that a turn adds only what is new: the card, the lore and the earlier messages are there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import msgspec

from innkeeper.content.files.private import make_private
from innkeeper.prompt.errors import FormatError, InnkeeperError, UnavailableError, UnknownNameError, Where
from innkeeper.prompt.machine import home, utc_now

if TYPE_CHECKING:
    import sqlite3

    from innkeeper.conversation.conversation import Conversation
    from innkeeper.prompt import BuildRequest, Plan, ReplayBundle


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
    """One call of a model in the log: ``said`` by the user, the reply, the reason of its end, the provider's usage.

    ``predicted_cached_tokens`` of the usage are ours: what the provider's cache should have served of the prompt.
    """

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
    """One conversation in the log: its times, speakers, model, file and number of lines."""

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


class LoggedState(NamedTuple):
    """The last state of a conversation: the request that its turns have in common, and its chat as JSON lines."""

    chat: LoggedChat
    base: BuildRequest
    messages: bytes


class TalkState(NamedTuple):
    """The state of a conversation at the terminal: itself, the model and its address, the chat's file."""

    conversation: Conversation
    model: str
    address: str | None
    path: Path | None


class RecordedTurn(NamedTuple):
    """One call of a model: the user's message (empty if the reply was asked again), the reply, and its cost.

    ``end`` is the provider's reason, ``stopped`` after Ctrl-C, or the kind of the error.
    """

    plan: Plan
    message: str
    reply: str
    end: str | None
    usage: Mapping[str, Any] | None
    speaker: str


_LINE: Final = "SELECT id, chat, at, model, address, speaker, said, reply, ended, usage FROM lines"
_CHAT: Final = """SELECT id, begun, updated, kind, character, user, model, address, path,
    (SELECT count(*) FROM lines WHERE chat = chats.id) FROM chats"""


def log_path() -> Path:
    """Return the path of the log, whether it exists or not."""
    return home() / "log.db"


class TalkLog:
    """The log in one file, which the first entry creates. Every method may raise `UnavailableError`."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or log_path()

    # ---------------------------------------------------------------------------------------------------------- keeping

    def begin(self, kind: str, state: TalkState) -> int:
        """Add a conversation; return its number."""
        now, conversation = _now(), state.conversation
        names = conversation.character_name, conversation.user_name
        with self._open(write=True) as db:
            row = (now, now, kind, *names, state.model, state.address, *_state_columns(db, state))
            query = "INSERT INTO chats (begun, updated, kind, character, user, model, address, path, base, messages)"
            return int(db.execute(f"{query} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid or 0)

    def add(self, chat: int, state: TalkState, turn: RecordedTurn) -> int:
        """Add a line to a conversation; return its number."""
        from innkeeper.version import VERSION

        plan, dialect = turn.plan, turn.plan.dialect or "openai"
        usage = msgspec.json.encode(dict(turn.usage or {})).decode()
        texts = (turn.speaker, turn.message, turn.reply, turn.end, usage)
        with self._open(write=True) as db:
            request = b"{}" if plan.request is None else _put_request(db, plan.request)
            columns = (
                "chat, at, model, address, speaker, said, reply, ended, usage, request, fingerprint, dialect, version"
            )
            query = f"INSERT INTO lines ({columns})"
            row = (
                chat,
                _now(),
                state.model,
                state.address,
                *texts,
                request,
                plan.fingerprint(dialect),
                dialect,
                VERSION,
            )
            return int(db.execute(f"{query} VALUES ({', '.join('?' * len(row))})", row).lastrowid or 0)

    def update(self, chat: int, state: TalkState) -> None:
        """Replace the state of a conversation."""
        with self._open(write=True) as db:
            values = (_now(), state.model, state.address, *_state_columns(db, state), chat)
            db.execute(
                "UPDATE chats SET updated = ?, model = ?, address = ?, path = ?, base = ?, messages = ? WHERE id = ?",
                values,
            )

    def forget(self, chat: int) -> None:
        """Remove a conversation with its lines and the parts that only they use. Raises `UnknownNameError`."""
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
        """Return the conversations, the last changed first."""
        with self._open() as db:
            rows = (
                [] if db is None else db.execute(f"{_CHAT} ORDER BY updated DESC, id DESC LIMIT ?", (limit,)).fetchall()
            )
        return [LoggedChat(*row) for row in rows]

    def chat(self, number: int | None = None) -> LoggedChat:
        """Return a conversation, by default the last changed. Raises `UnknownNameError`, `UnavailableError`."""
        with self._open() as db:
            row = _row(db, _CHAT, number, "updated DESC, id DESC")
            if row is None:
                raise _no("conversation", number, db and db.execute("SELECT id FROM chats ORDER BY id DESC LIMIT 40"))
        return LoggedChat(*row)

    def line(self, number: int | None = None) -> LoggedCall:
        """Return a line, by default the last. Raises `UnknownNameError`, `UnavailableError`."""
        with self._open() as db:
            row = _row(db, _LINE, number, "id DESC")
            if row is None:
                raise _no("line", number, db and db.execute("SELECT id FROM lines ORDER BY id DESC LIMIT 40"))
        return _line(row)

    def lines(self, chat: int) -> list[LoggedCall]:
        """Return the lines of a conversation in order."""
        with self._open() as db:
            rows = [] if db is None else db.execute(f"{_LINE} WHERE chat = ? ORDER BY id", (chat,)).fetchall()
        return [_line(row) for row in rows]

    def search(self, words: Sequence[str], limit: int = 20) -> list[LoggedCall]:
        """Return the newest lines that contain all words, in any script and case."""
        folded = [word.casefold() for word in words]
        matches: list[LoggedCall] = []
        with self._open() as db:
            for row in () if db is None else db.execute(f"{_LINE} ORDER BY id DESC"):
                line = _line(row)
                text = f"{line.speaker}\n{line.said}\n{line.reply}".casefold()
                if all(word in text for word in folded):
                    matches.append(line)
                    if len(matches) == limit:
                        break
        return matches

    def bundle(self, number: int) -> ReplayBundle:
        """Return the request of a line, to be built again. Raises `UnknownNameError`."""
        from innkeeper.prompt import BuildRequest, ReplayBundle

        line = self.line(number)
        with self._open() as db:
            query = "SELECT request, fingerprint, dialect, version FROM lines WHERE id = ?"
            packed, fingerprint, dialect, version = db.execute(query, (number,)).fetchone()
            request = BuildRequest.of(_get_request(db, packed, self.path))
            counter = f"local:{line.model}" if line.address is None else ""
            return ReplayBundle(request, fingerprint, dialect, version, counter)

    def state(self, number: int | None = None) -> LoggedState:
        """Return the last state of a conversation. Raises `UnknownNameError`, `UnavailableError`."""
        from innkeeper.prompt import BuildRequest

        chat = self.chat(number)
        with self._open() as db:
            base, messages = db.execute("SELECT base, messages FROM chats WHERE id = ?", (chat.id,)).fetchone()
            return LoggedState(chat, BuildRequest.of(_get_request(db, base, self.path)), zlib.decompress(messages))

    @contextmanager
    def _open(self, *, write: bool = False, manual: bool = False) -> Iterator[Any]:
        """Open the file; None if there is none to read. A write is kept whole or not at all."""
        import sqlite3  # not before the first reply is there

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
    """Return the row of this number, or the first in this order, if there is one."""
    where, values = ("", ()) if number is None else ("WHERE id = ?", (number,))
    return db and db.execute(f"{query} {where} ORDER BY {order} LIMIT 1", values).fetchone()


def _line(row: Sequence[Any]) -> LoggedCall:
    return LoggedCall._make((*row[:-1], msgspec.json.decode(row[-1])))


def _no(what: str, number: int | None, ids: Any) -> UnavailableError | UnknownNameError:
    if number is None or ids is None:
        return UnavailableError("nothing has been said yet", hint="innkeeper ask CARD 'Hello'")
    return UnknownNameError(what, str(number), [str(row[0]) for row in ids], hint="innkeeper log list")


# ------------------------------------------------------------------------------------------------------------- requests


def _state_columns(db: sqlite3.Connection, state: TalkState) -> tuple[str | None, bytes, bytes]:
    path, conversation = None if state.path is None else str(state.path.absolute()), state.conversation
    return path, _put_request(db, conversation.base), zlib.compress(conversation.chat.to_jsonl())


def _put(db: sqlite3.Connection, data: bytes) -> str:
    """Store a part, unless it is there already; return its name."""
    name = sha256(data).digest()[:16]
    db.execute("INSERT OR IGNORE INTO parts VALUES (?, ?)", (name, zlib.compress(data)))
    return name.hex()


def _put_request(db: sqlite3.Connection, request: BuildRequest) -> bytes:
    """Store a request, its larger fields and its messages as parts; return their names."""
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


def _get_request(db: sqlite3.Connection, stored: bytes, path: Path) -> dict[str, Any]:
    """Return the fields of a request that `_put_request` stored."""
    facts = msgspec.json.decode(stored)
    fields = {**facts["plain"], **{name: _get(db, part, path) for name, part in facts["parts"].items()}}
    history = []
    last = facts["history"]
    while last is not None:
        last, message = _get(db, last, path)
        history.append(message)
    return {**fields, **({"history": history[::-1]} if history else {})}


def _used_parts(db: sqlite3.Connection) -> set[bytes]:
    """Return the names of the parts that conversations and lines use, directly or by other parts."""
    used: set[bytes] = set()
    for (stored,) in db.execute("SELECT base FROM chats UNION ALL SELECT request FROM lines"):
        facts = msgspec.json.decode(stored)
        used.update(bytes.fromhex(part) for part in facts["parts"].values())
        last = facts["history"]
        while last is not None and bytes.fromhex(last) not in used:
            used.add(bytes.fromhex(last))
            row = db.execute("SELECT data FROM parts WHERE hash = ?", (bytes.fromhex(last),)).fetchone()
            last = None if row is None else msgspec.json.decode(zlib.decompress(row[0]))[0]
    return used


class TurnRecorder:
    """Writes one conversation into the log from its first turn on. If the log fails, it says so once and stops."""

    def __init__(self, kind: str, chat: int | None = None) -> None:
        self.kind = kind
        self.chat = chat
        self.line: int | None = None
        self._failed = False

    @cached_property
    def log(self) -> TalkLog:
        """The log, opened after the first turn."""
        return TalkLog()

    def sent(self) -> ReplayBundle | None:
        """Return the request of the conversation's last line; None for a new one and where the log fails."""
        with suppress(InnkeeperError):
            lines = () if self.chat is None else self.log.lines(self.chat)
            return self.log.bundle(lines[-1].id) if lines else None
        return None

    def record(self, state: TalkState, turn: RecordedTurn) -> None:
        """Add a turn."""
        if self._failed:
            return
        with self._guarded():
            if self.chat is None:
                self.chat = self.log.begin(self.kind, state)
            self.line = self.log.add(self.chat, state, turn)

    def keep(self, state: TalkState) -> None:
        """Replace the state of the conversation, once it is in the log."""
        if self.chat is not None and not self._failed:
            with self._guarded():
                self.log.update(self.chat, state)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except InnkeeperError as error:
            self._failed = True
            click.echo(f"innkeeper: nothing more is kept: {error.render()}", err=True)
