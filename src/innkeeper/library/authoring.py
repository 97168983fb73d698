"""Authoring: making, checking and publishing templates, and taking a publication back.

A version is checked in the same transaction that moves a label to it: its variables, its parts, its key among those that hold
the label, its length in the window of the model that reads it, and its text, which must pass in its own tier by itself.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from innkeeper.gate.gate import TextKind
from innkeeper.gate.tier import Decision
from innkeeper.library.errors import NotFoundError, TierBlockedError, suggesting
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.stores import ModelStore
from innkeeper.library.templates.publish import KeyCallers, TemplateProblem, problems_of, require_publishable, required
from innkeeper.library.templates.store import LabelEvent, TemplateStore
from innkeeper.library.templates.template import PRODUCTION, TemplateVersion
from innkeeper.library.tiers.moderation import moderate
from innkeeper.library.transfer.format import Parsed
from innkeeper.library.transfer.importing import Imported, Progress, import_library
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.library.library import Library
    from innkeeper.library.templates.template import TemplateDraft


CALLERS_DAYS: Final = 30
"""Days of the log whose calls say what callers of a key send."""


class Authoring:
    """Made by `Library.authoring`. What it changes is in memory, here, when its methods return; elsewhere within two seconds."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.store = TemplateStore(library.db)
        self._models = ModelStore(library.db)

    # ---------------------------------------------------------------------------------------------------------- looking

    def get(self, name: str, *, version: int | None = None, label: str | None = None) -> TemplateVersion:
        """One version. Raises `NotFoundError`, with near names."""
        with suggesting(name, self._names):
            return self.store.get(name, version=version, label=label)

    def validate(
        self, version: TemplateVersion, label: str = PRODUCTION, *, force: bool = False
    ) -> tuple[TemplateProblem, ...]:
        """Everything that is wrong with a version, were it to hold a label; errors stop a publication.

        ``force``: as for `publish`.
        """
        holders = self.store.holders(version, label)
        inputs = {**self._check_inputs(version, label, force=force), "holders": holders}
        return (*problems_of(version, **inputs), *self._judged(version))

    # --------------------------------------------------------------------------------------------------------- changing

    def create(self, draft: TemplateDraft) -> TemplateVersion:
        """A new template with version 1, without a label. Raises `AlreadyExistsError`, `FieldError`."""
        return self.store.create(draft)

    def add_version(self, draft: TemplateDraft, *, base: int | None = None) -> TemplateVersion:
        """A further version. Raises `NotFoundError` with near names, `ConflictError`."""
        with suggesting(draft.name, self._names):
            return self.store.add_version(draft, base=base)

    def publish(
        self,
        name: str,
        version: int | None = None,
        *,
        label: str = PRODUCTION,
        who: str = "",
        why: str = "",
        force: bool = False,
    ) -> LabelEvent:
        """Check a version (the latest where none is named) and move a label to it.

        ``force``: also where callers of its key do not send what it requires, or send what it does not read. The log's calls of
        the last `CALLERS_DAYS` days count, and the service's own tasks.

        Raises:
            InvalidTemplateError: it may not be published; with all problems.
            TierBlockedError: its text does not pass in its own tier; recorded as an audit event.
            AlreadyExistsError: another template has its key under this label.
            NotFoundError: there is no such version.
        """
        chosen = self.get(name, version=version).version

        def check(target: TemplateVersion) -> None:
            self._admit(target, who)
            require_publishable(target, **self._check_inputs(target, label, force=force))

        moved = self.store.move_label(name, label, chosen, who=who, why=why, validate=check)
        self._changed()
        return moved

    def rollback(
        self, name: str, *, label: str = PRODUCTION, to: int | None = None, who: str = "", why: str = ""
    ) -> LabelEvent:
        """Move a label back to the version that held it before, or to one that is named; that one is checked again.

        What its callers send does not stop it.

        Raises:
            NotFoundError: the label is not held, or was never held by another version.
        """
        with suggesting(name, self._names):
            held = self.store.get(name, label=label).version
            chosen = self._before(name, label, held) if to is None else to
        return self.publish(name, chosen, label=label, who=who, why=why or f"back from version {held}", force=True)

    def take_in(
        self, parsed: Parsed, *, who: str = "", dry_run: bool = False, progress: Progress = lambda _: None
    ) -> Imported:
        """Import a file, all of it or nothing; versions that get a label are checked as by `publish` with ``force``.

        Raises as `import_library` and `publish` do, with the place in the file.
        """
        lookup, windows = cache(self._lookup), cache(self._window)

        def check(target: TemplateVersion) -> None:
            self._admit(target, who)
            inputs = {"lookup": lookup, "window": windows(target.key.reader), "counter": self._library.counter}
            require_publishable(target, **inputs, callers=KeyCallers(force=True))

        done = import_library(self._library.db, parsed, who=who, dry_run=dry_run, progress=progress, validate=check)
        if not dry_run:
            self._changed()
        return done

    def remove_label(self, name: str, label: str, *, who: str = "", why: str = "") -> LabelEvent:
        """Take a label off. Raises `NotFoundError`."""
        with suggesting(name, self._names):
            moved = self.store.remove_label(name, label, who=who, why=why)
        self._changed()
        return moved

    # ---------------------------------------------------------------------------------------------------------- helpers

    def _names(self) -> tuple[str, ...]:
        return self.store.names()

    def _changed(self) -> None:
        self._library.refresh()

    def _before(self, name: str, label: str, held: int) -> int:
        """The version that held a label before the present one: the newest move to this one came from it."""
        moves = [event for event in self.store.history(name) if event.label == label]
        for event in reversed(moves):
            if event.to_version == held and event.from_version not in {None, held}:
                return int(event.from_version or 0)
        raise NotFoundError(
            f"no version of {name!r} held {label!r} before version {held}", hint="name the version: --to"
        )

    def _check_inputs(self, version: TemplateVersion, label: str, *, force: bool) -> dict[str, Any]:
        """What a check is given; whether another template has the key is for the store to say, by its index."""
        window, counter = self._window(version.key.reader), self._library.counter
        inputs = {"lookup": self._lookup, "label": label, "window": window, "counter": counter}
        return {**inputs, "callers": KeyCallers(self._sent(version), force)}

    def _sent(self, version: TemplateVersion) -> dict[str, frozenset[str]]:
        """Who called this key of late, by the version that answered: they are known to send what that one requires."""
        callers: dict[str, frozenset[str]] = {}
        for name, number, calls in LogStore(self._library.db).answered(version.key.use_case, days=CALLERS_DAYS):
            before = self._lookup(name, number)
            if before is not None and before.key == version.key:
                callers[f"who had {count_of(calls, 'answer')} of {name}@{number}"] = required(before)
        return callers

    def _window(self, key: str | None) -> int | None:
        return next((row.context_window for row in self._models.named((key,)) if row.is_active), None)

    def _lookup(self, name: str, version: int) -> TemplateVersion | None:
        try:
            return self.store.get(name, version=version)
        except NotFoundError:
            return None

    def _judged(self, version: TemplateVersion) -> tuple[TemplateProblem, ...]:
        decision = self._library.rules.gate.check_saved(_texts_of(version), version.key.content_mode).decision
        if decision.decision is not Decision.BLOCK:
            return ()
        error = TierBlockedError(
            decision.decision.value, decision.effective.value, decision.categories, decision.reasons
        )
        return (TemplateProblem("tier", error.message, hint=error.hint),)

    def _admit(self, version: TemplateVersion, who: str) -> None:
        """A text that is blocked by itself would block every request. Its own tier counts, whether it is enabled or not."""
        texts, tier, gate = _texts_of(version), version.key.content_mode, self._library.rules.gate
        resource = ("template", version.version_id)
        try:
            moderate(self._library.db, TextKind.SYSTEM_PROMPT, texts, tier, resource=resource, who=who, gate=gate)
        except TierBlockedError as error:
            self._library.metrics.count("library_blocks_total", categories=",".join(error.categories))
            raise


def _texts_of(version: TemplateVersion) -> dict[str, str]:
    """What a version says by itself: its text, and what stands in for values."""
    defaults = {variable.name: variable.default for variable in version.variables if variable.default}
    return {"system_prompt": version.system_prompt, **defaults}
