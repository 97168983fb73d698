"""Engine: one workspace in a process of its own: what the server asks of it, by name, with bytes in and out.

Nothing of a card, a chat or a book is read anywhere else. The server holds what the process is started from again, should it be
lost: see `innkeeper.service.inspector.session.session`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from innkeeper.prompt import BuildLimits
from innkeeper.prompt.allowance import allowed
from innkeeper.prompt.errors import InnkeeperError, UnknownNameError, UsageError
from innkeeper.prompt.typed.once import convert, decode, unpack
from innkeeper.service.inspector.inspection.inspection import inspected
from innkeeper.service.inspector.inspection.planning import planned
from innkeeper.service.inspector.inspection.timeline import ChatTimeline
from innkeeper.service.inspector.session.messages import (
    EngineCall,
    EngineReply,
    InstallSource,
    WorkspaceOptions,
    WorkspaceState,
)
from innkeeper.service.inspector.views.exchanges import (
    CompareRequest,
    InspectionUpdate,
    LiveFailure,
    LiveFiles,
    LiveReply,
    MessageChanges,
    OriginChanges,
    TrimChanges,
    VerdictChanges,
)
from innkeeper.service.inspector.views.inspection import InspectionFacts, InspectionView
from innkeeper.service.inspector.views.timeline import TimelineRequest
from innkeeper.service.inspector.views.workspace import (
    Changes,
    ConflictEnd,
    Edit,
    EntriesCopy,
    EntryEdits,
    FileContent,
    FileReply,
    FileView,
    SettingsChange,
    Variation,
    problem_body,
    problem_of,
)
from innkeeper.service.inspector.workspace.beginnings import copied_entries
from innkeeper.service.inspector.workspace.installed import Installed
from innkeeper.service.inspector.workspace.saving import before_and_after, exported, saved_bytes
from innkeeper.service.inspector.workspace.working import WorkingFile
from innkeeper.service.inspector.workspace.workspace import OpenWorkspace

T = TypeVar("T")

EngineAnswer = tuple[EngineReply, bytes]

MAX_INSPECTION_SECONDS: Final = 4.0
"""Seconds of the processor for one build of the inspector (`AllowanceError`)."""


class WorkspaceEngine:
    """The workspace and what is asked of it. Until `answer` was asked to open one, there is none."""

    def __init__(self) -> None:
        self._open: OpenWorkspace | None = None
        self._failure: InnkeeperError = UsageError("nothing is open")
        self._connections: dict[str, ConnectionState] = {}
        self._options = WorkspaceOptions()
        self._timeline = ChatTimeline()

    @property
    def workspace(self) -> OpenWorkspace:
        """The workspace. Raises why none is open, where none is."""
        if self._open is None:
            raise self._failure
        return self._open

    def answer(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """The answer to one call; an error of ours is told as a problem, with its status."""
        operation = OPERATIONS[call.name]
        try:
            with allowed(BuildLimits(seconds=MAX_INSPECTION_SECONDS)):
                return operation(self, call, body)
        except InnkeeperError as error:
            return _refusal(error.http_status, error)
        except msgspec.DecodeError as error:
            return _refusal(400, UsageError(f"this cannot be read: {error}"))
        except RecursionError:
            return _refusal(413, UsageError("this is nested too deeply"))
        except Exception as error:  # noqa: BLE001 - a defect of ours is reported; the workspace goes on
            return _refusal(500, InnkeeperError(f"something went wrong here ({type(error).__name__})"))

    # --------------------------------------------------------------------------------------------------------- opening

    def open(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """Open a workspace; edits that no longer fit are left out."""
        try:
            self._begin(unpack(body, WorkspaceState))
        except InnkeeperError as error:
            self._failure = error
            raise
        return EngineReply(), b""

    def _begin(self, opening: WorkspaceState) -> None:
        self._options, files = opening.options, []
        for opened in opening.files:
            file = WorkingFile(opened.id, opened.name, opened.data, writable=opened.writable, fresh=opened.fresh)
            file.image = opened.image
            if opened.copy is not None:
                with suppress(InnkeeperError):
                    file.apply(Edit(file=opened.id, path=()), msgspec.json.decode(opened.copy))
            files.append(file)
        options, installed = opening.options, None if opening.install is None else Installed(opening.install)
        self._open = OpenWorkspace(opening.title, files, now=options.now, every=options.every, installed=installed)
        self._connections.clear()
        for raw in opening.edits:
            with suppress(InnkeeperError):
                self._apply(raw)
        for opened in opening.files:
            if opened.theirs is not None:
                self.workspace.file(opened.id).meet(opened.theirs)
        for name, value in (msgspec.json.decode(opening.settings) if opening.settings else {}).items():
            with suppress(InnkeeperError, msgspec.ValidationError):
                self.workspace.change(convert({name: value}, SettingsChange))

    def view(self, _: EngineCall, __: bytes) -> EngineAnswer:
        """The workspace."""
        return _json(self.workspace.view(self._options))

    def contents(self, _: EngineCall, __: bytes) -> EngineAnswer:
        """What there is to choose from in the folder."""
        installed = self.workspace.installed
        if installed is None:
            raise UnknownNameError("SillyTavern folder", "")
        return _json(installed.contents())

    def choose(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """What is to be opened for another choice in a folder."""
        return EngineReply(), msgspec.msgpack.encode(Installed(unpack(body, InstallSource)).opening())

    def add(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """One more file: its id in ``argument``, its name in ``detail``; begun here where ``number`` is 1."""
        file = WorkingFile(call.argument, call.detail, body, writable=call.flag, fresh=call.number > 0)
        self.workspace.add(file)
        return _json(self.workspace.file_view(file))

    def copies(self, _: EngineCall, __: bytes) -> EngineAnswer:
        """The documents that are edited, by the ids of their files."""
        trees = {file.id: msgspec.json.encode(file.tree) for file in self.workspace.files.values() if file.changed}
        return EngineReply(), msgspec.msgpack.encode(trees)

    # ------------------------------------------------------------------------------------------------------------ live

    def live(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """Apply edits and settings, build, and answer with changes; ``argument`` is the connection, ``number`` the serial."""
        since = perf_counter()
        request = decode(body, _Live)
        try:
            failure, others = self._change(request)
            plan = planned(self.workspace)
            inspection = inspected(self.workspace, plan)
        except InnkeeperError as error:
            return _json(LiveFailure(call.number, problem_of(error), self._changed_files(call.argument)))
        update = self._connection(call.argument).next(inspection)
        if failure is not None:
            return _json(LiveFailure(call.number, problem_of(failure), self._changed_files(call.argument)))
        took = (perf_counter() - since) * 1000
        return _json(LiveReply(call.number, round(took, 2), update, self._changed_files(call.argument), others))

    def _change(self, request: _Live) -> tuple[InnkeeperError | None, SettingsChange]:
        """Apply all that can be; the first error of what cannot, and settings that changed with those that were asked for."""
        first: InnkeeperError | None = None
        used = self.workspace.settings.used
        for raw in request.edits:
            try:
                self._apply(bytes(raw))
            except InnkeeperError as error:
                first = first or error
        others = SettingsChange() if request.settings is UNSET else self.workspace.change(request.settings)
        if self.workspace.settings.used != used:
            others = msgspec.structs.replace(others, used=self.workspace.settings.used)
        return first, others

    def _apply(self, raw: bytes) -> None:
        try:
            edit = decode(raw, Edit)
        except msgspec.DecodeError as error:
            raise UsageError(f"this is no edit: {error}") from None
        value = {} if edit.value is UNSET else {"value": edit.value}
        file = self.workspace.file(edit.file)
        kind = file.kind
        file.apply(edit, **value)
        if kind == "other" and file.kind != kind:
            self.workspace.use(file)

    def leave(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """A connection has ended."""
        self._connections.pop(call.argument, None)
        return EngineReply(), b""

    def lint(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """Lint the files that have changed, and answer with those that have other findings; else with nothing."""
        self.workspace.lint()
        files = self._changed_files(call.argument)
        return _json(LiveFiles(call.number, files)) if files else (EngineReply(), b"")

    def _connection(self, name: str) -> ConnectionState:
        return self._connections.setdefault(name, ConnectionState())

    def _changed_files(self, connection: str) -> tuple[FileView, ...]:
        """The files that have changed since a connection was sent them."""
        files = self._connection(connection).files
        views = [self.workspace.file_view(file) for file in self.workspace.files.values()]
        others = tuple(view for view in views if files.get(view.id) != view)
        files |= {view.id: view for view in others}
        return others

    def inspection(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """The inspection of the workspace, or of a variation of it."""
        variation = decode(body, Variation) if body else None
        return _json(inspected(self.workspace, planned(self.workspace, variation), variation))

    # ----------------------------------------------------------------------------------------------------------- files

    def file(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """A working copy."""
        file = self.workspace.file(call.argument)
        return _json(FileContent(self.workspace.file_view(file), file.tree, file.text))

    def picture(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """A card's picture."""
        picture = self.workspace.file(call.argument).picture()
        if picture is None:
            raise UnknownNameError("picture", call.argument)
        return EngineReply(media_type="image/png"), picture

    def repaint(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """Have another picture for a card."""
        file = self.workspace.file(call.argument)
        file.repaint(body)
        return _json(FileReply(self.workspace.file_view(file)))

    def entries(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """The edits that put entries into another book."""
        request = decode(body, EntriesCopy)
        source, target = self.workspace.file(request.file), self.workspace.file(request.to)
        return _json(EntryEdits(copied_entries(source, request.paths, target)))

    def changes(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """What saving would change."""
        return _json(Changes(*before_and_after(self.workspace.file(call.argument))))

    def revert(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """Go back to what is saved."""
        file = self.workspace.file(call.argument)
        file.revert()
        return _json(FileReply(self.workspace.file_view(file)))

    def meet(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """Another program has written a file."""
        file = self.workspace.file(call.argument)
        file.meet(body)
        return _json(self.workspace.file_view(file))

    def conflict(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """What was changed here and by another program."""
        return _json(self.workspace.file(call.argument).conflict())

    def resolve(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """End a conflict."""
        file = self.workspace.file(call.argument)
        file.resolve(decode(body, ConflictEnd))
        return _json(FileReply(self.workspace.file_view(file)))

    def written(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """The bytes that saving writes."""
        return EngineReply(media_type=BINARY), saved_bytes(self.workspace.file(call.argument))

    def saved(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """A file was saved as these bytes."""
        file = self.workspace.file(call.argument)
        file.open(body)
        return _json(self.workspace.file_view(file))

    def export(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """A file in another format; its name is the answer's."""
        name, data = exported(self.workspace.file(call.argument), call.detail)
        return EngineReply(media_type=BINARY, name=name), data

    # ---------------------------------------------------------------------------------------------------------- prompts

    def wire(self, call: EngineCall, _: bytes) -> EngineAnswer:
        """What a provider gets."""
        from innkeeper.service.inspector.inspection.wire import wire_view

        variation = Variation(settings=SettingsChange(dialect=call.detail)) if call.detail else None
        return _json(wire_view(self.workspace, planned(self.workspace, variation), variation))

    def compare(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """Two variations side by side."""
        from innkeeper.service.inspector.inspection.comparing import compared

        return _json(compared(self.workspace, decode(body, CompareRequest)))

    def timeline(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """Some turns of the chat."""
        return _json(self._timeline.view(self.workspace, decode(body, TimelineRequest)))

    def steps(self, _: EngineCall, __: bytes) -> EngineAnswer:
        """How the prompt is built."""
        from innkeeper.service.inspector.inspection.steps import step_views

        return _json(step_views(self.workspace))

    def replay(self, _: EngineCall, __: bytes) -> EngineAnswer:
        """The build as a replay bundle."""
        return EngineReply(media_type="application/json", name="replay.json"), planned(
            self.workspace
        ).replay().to_json()

    def open_replay(self, call: EngineCall, body: bytes) -> EngineAnswer:
        """A replay bundle as one more file, which alone is used."""
        from innkeeper.prompt import ReplayBundle

        ReplayBundle.from_json(body)
        file = WorkingFile(call.argument, call.detail, body, writable=False)
        self.workspace.add(file)
        self.workspace.use_alone(file)
        return self.view(call, b"")

    def plan(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """For talking: the body for a route, and the inspection of the prompt with another message."""
        from innkeeper.service.inspector.inspection.planning import RouteTurn, sending

        return EngineReply(), msgspec.msgpack.encode(sending(self.workspace, decode(body, RouteTurn)))

    def profile(self, _: EngineCall, __: bytes) -> EngineAnswer:
        """The profile among the files, as JSON; ``null`` for none."""
        opened = self.workspace.profile
        return _json(None if opened is None else opened.profile.to_dict())

    def finish(self, _: EngineCall, body: bytes) -> EngineAnswer:
        """For talking: the answer as the tavern keeps it."""
        from innkeeper.service.inspector.inspection.planning import AnswerText, finished

        return EngineReply(), finished(unpack(body, AnswerText)).encode("utf-8", "surrogatepass")


class _Live(msgspec.Struct, frozen=True):
    edits: tuple[msgspec.Raw, ...] = ()
    settings: SettingsChange | msgspec.UnsetType = UNSET


BINARY: Final = "application/octet-stream"
JSON: Final = "application/json"

OPERATIONS: Final[dict[str, Callable[[WorkspaceEngine, EngineCall, bytes], EngineAnswer]]] = {
    name: getattr(WorkspaceEngine, name)
    for name in (
        "open", "view", "contents", "choose", "add", "copies", "live", "leave", "lint", "inspection", "file", "picture",
        "changes", "revert", "meet", "conflict", "resolve", "repaint", "entries",
        "written", "saved", "export", "wire", "compare", "timeline", "steps",
        "replay", "open_replay", "profile", "plan", "finish",
    )
}  # fmt: skip
"""What can be asked."""


def _refusal(status: int, error: InnkeeperError) -> EngineAnswer:
    return EngineReply(status=status), problem_body(error)


def _json(value: Any) -> EngineAnswer:
    try:
        return EngineReply(media_type=JSON), msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate in a text
        from innkeeper.service.exchange import encode

        return EngineReply(media_type=JSON), encode(msgspec.to_builtins(value))


class ConnectionState:
    """What one connection was sent last: the inspection, and the files."""

    def __init__(self) -> None:
        self._before: InspectionView | None = None
        self.files: dict[str, FileView] = {}
        """The files as they were sent."""

    def next(self, inspection: InspectionView) -> InspectionUpdate:
        """What is to be sent of an inspection. Where most of a list is other, it goes whole."""
        before, self._before = self._before, inspection
        update: dict[str, Any] = {name: getattr(inspection, name) for name in InspectionFacts.__struct_fields__}
        for name, changes in _LISTS.items():
            items = getattr(inspection, name)
            changed = None if before is None else _changes(getattr(before, name), items)
            update |= {name: items} if changed is None else {f"{name}_changed": changes(len(items), changed)}
        return InspectionUpdate(**update)


_LISTS: Final = {"messages": MessageChanges, "verdicts": VerdictChanges, "origins": OriginChanges, "trims": TrimChanges}
"""The long lists of an inspection, and how what changed in them is sent."""


def _changes(before: Sequence[T], after: Sequence[T]) -> dict[str, T] | None:
    """The changed items by index; None where most have changed."""
    changed = {
        str(index): item
        for index, item in enumerate(after)
        if index >= len(before) or (item is not before[index] and item != before[index])
    }
    return None if 2 * len(changed) > len(after) else changed
