"""What can go wrong with the library, one class a rule.

::

    UsageError
    ├── SpecError                   a limit or budget that leaves no room
    ├── AlreadyExistsError          a name that is taken (409)
    ├── AmbiguousTemplateError      two templates would answer the same request under one label (409)
    ├── ConflictError               somebody else changed it first (409)
    ├── QueryRefusedError           a statement that would change something, or that the database refuses
    ├── UnknownLabelError           a template without this label (404)
    ├── UnknownRowError             no row or secret of this name or id (404)
    ├── TemplateNotFoundError       no template answers a request (404)
    │   └── LabelNotFoundError      none with the label asked for; no other label stands in (404)
    ├── UnknownTemplateError        no template of this name (404)
    └── UnknownVersionError         a template without this version (404)
    InputError
    ├── BackupError                 a backup that is not whole, or none at all
    ├── InvalidTemplateError        a template that may not be published; lists every problem
    ├── MissingVariablesError       required variables without a value; lists them
    ├── PartialCycleError           templates that include or extend one another in a circle
    ├── LexiconError                a detection list that cannot be used; says which entry
    ├── RequestError                a request with a field of a wrong kind; says which
    ├── RowError                    a value that its column, or the vault, does not take
    ├── SnapshotError               a snapshot that is damaged, or none at all
    ├── TransferError               an import that is not what an export writes; says line and column
    ├── TransferVersionError        an export of a schema that is not read here
    ├── UnknownPartialError         a template that is included or extended and is not there
    └── VariableTypeError           a value that its variable does not take
    UnavailableError
    ├── DatabaseError               the database does not do its work
    │   ├── DatabaseCorruptError    its file is damaged, or no database
    │   ├── DatabaseFullError       no room left to write
    │   ├── DatabaseLockedError     another writer held it for too long
    │   ├── DatabaseMissingError    no such file, and none was to be made
    │   ├── DatabaseReadOnlyError   it may be read only
    │   ├── DatabaseUnreachableError  the server does not answer, or refuses the login
    │   ├── SchemaNewerError        made by a later Innkeeper
    │   └── SchemaOutdatedError     made by an earlier Innkeeper and not upgraded
    └── VaultError                  the vault does not do its work
        ├── TamperedSecretError     a stored secret is not what was stored under its name
        ├── VaultKeyError           a key that cannot be used: not one, or open to others
        ├── VaultKeyMissingError    no key at all
        └── WrongVaultKeyError      a secret that another key sealed
    InnkeeperError
    ├── DegradedError               a makeshift, where ``strict`` was asked for (422)
    ├── OverBudgetError             what must stay does not fit (422)
    └── TierBlockedError            a request whose tier decision does not let it pass (403)

A template that cannot be read raises `MacroSyntaxError`, one beyond a limit `MacroLimitError`, as templates of any language do;
``TemplateSyntaxError`` and ``TemplateLimitError`` are other names for them.

`with_near` and `near_names` add to the error of an unknown name the known names that were probably meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, TypeVar

from innkeeper.macros.engine.errors import MacroLimitError as TemplateLimitError
from innkeeper.macros.engine.errors import MacroSyntaxError as TemplateSyntaxError
from innkeeper.prompt.errors import (
    FormatError,
    InnkeeperError,
    InputError,
    UnavailableError,
    UnsupportedError,
    UsageError,
)

__all__ = [
    "AlreadyExistsError",
    "AmbiguousTemplateError",
    "BackupError",
    "ConflictError",
    "DatabaseCorruptError",
    "DatabaseError",
    "DatabaseFullError",
    "DatabaseLockedError",
    "DatabaseMissingError",
    "DatabaseReadOnlyError",
    "DatabaseUnreachableError",
    "DegradedError",
    "InvalidTemplateError",
    "LabelNotFoundError",
    "LexiconError",
    "MissingVariablesError",
    "OverBudgetError",
    "PartialCycleError",
    "QueryRefusedError",
    "RequestError",
    "RowError",
    "SchemaNewerError",
    "SchemaOutdatedError",
    "SnapshotError",
    "SpecError",
    "TamperedSecretError",
    "TemplateLimitError",
    "TemplateNotFoundError",
    "TemplateSyntaxError",
    "TierBlockedError",
    "TransferError",
    "TransferVersionError",
    "UnknownLabelError",
    "UnknownPartialError",
    "UnknownRowError",
    "UnknownTemplateError",
    "UnknownVersionError",
    "VariableTypeError",
    "VaultError",
    "VaultKeyError",
    "VaultKeyMissingError",
    "WrongVaultKeyError",
    "near_names",
    "with_near",
]

# ------------------------------------------------------------------------------------------------------ mistakes of callers


class AlreadyExistsError(UsageError):
    """A name, or what must be unique beside it, that another row has."""

    http_status = 409


class AmbiguousTemplateError(UsageError):
    """Two templates with the same key under one label: which of them answers a request could not be told."""

    http_status = 409
    HINT = "move the label off the other template first, or give this one another key"


class ConflictError(UsageError):
    """A change that was based on a state which is no longer the present one."""

    http_status = 409
    HINT = "read it again and repeat the change"


class QueryRefusedError(UsageError):
    """A statement that is not read-only, or that the database does not understand."""

    HINT = "one SELECT, EXPLAIN or VALUES statement; changes go through the other commands"


class UnknownLabelError(UsageError):
    """A template that does not hold the label that was asked for. No other label stands in for it."""

    http_status = 404


class UnknownRowError(UsageError):
    """No row of this name or id."""

    http_status = 404


class TemplateNotFoundError(UsageError):
    """No template answers a request, or only a makeshift does where ``strict`` was asked."""

    http_status = 404
    HINT = "`innkeeper template resolve` shows every level that was tried"


class LabelNotFoundError(TemplateNotFoundError):
    """No template with the label asked for answers. Templates with other labels are never taken instead."""

    HINT = "publish a template under this label, or ask for another"


class UnknownTemplateError(UsageError):
    """No template of this name."""

    http_status = 404
    HINT = "`innkeeper template list` shows what there is"


class UnknownVersionError(UsageError):
    """A template that has no version of this number."""

    http_status = 404


# ------------------------------------------------------------------------------------------------------------ outside data


class BackupError(InputError):
    """A backup whose checksum is not its own, that is damaged, or that is none."""

    HINT = "take another backup: this one cannot be trusted"


class InvalidTemplateError(InputError):
    """A template that may not be published. ``problems`` are all of them, each with its place where it has one."""

    HINT = "mend what is listed and publish again"

    def __init__(self, message: str, *, problems: Iterable[Any] = (), **kwargs: Any) -> None:
        self.problems = tuple(problems)
        super().__init__(message, problems=[str(problem) for problem in self.problems], **kwargs)


class MissingVariablesError(InputError):
    """Required variables that have no value. ``missing`` are their names, in the order in which they are declared."""

    HINT = "give them values, or declare them as not required with a default"

    def __init__(self, missing: Iterable[str], **kwargs: Any) -> None:
        self.missing = tuple(missing)
        names = ", ".join(self.missing)
        super().__init__(f"variables without a value: {names}", missing=list(self.missing), **kwargs)


class PartialCycleError(InputError):
    """Templates that include or extend one another in a circle. ``chain`` is the way round."""

    HINT = "take one of them out of the circle"

    def __init__(self, chain: Iterable[str], **kwargs: Any) -> None:
        self.chain = tuple(chain)
        super().__init__(f"templates in a circle: {' → '.join(self.chain)}", chain=list(self.chain), **kwargs)


class LexiconError(FormatError):
    """A detection list that cannot be used. ``where`` names the entry."""

    HINT = "each entry has its own id, a pattern with letters, a category, and a weight above 0 up to 1"


class RequestError(InputError):
    """A request with a field of a wrong kind. ``where`` names the field; its value is never part of the error."""


class RowError(InputError):
    """A value that the database cannot hold: a NUL character, a number out of range, a wrong kind. No secret is shown."""


class SnapshotError(FormatError):
    """A snapshot whose SHA-256 is not its own, or that is none. Nothing of it is used."""

    HINT = "`innkeeper cache rebuild` writes a new one"


class TransferError(FormatError):
    """Text that is no export of the library. ``where`` says at which line and column, or at which path."""

    HINT = "nothing was imported; mend the place shown and import again"


class TransferVersionError(UnsupportedError):
    """An export with a schema version that is not read here."""

    HINT = "import it with the Innkeeper that wrote it, or a later one"


class UnknownPartialError(InputError):
    """A template that another includes or extends, and that is not there in this version."""

    HINT = "partials and parents are pinned by name and version; check both"


class VariableTypeError(InputError):
    """A value of a kind that its variable does not take."""


# ------------------------------------------------------------------------------------------------------------ the database


class DatabaseError(UnavailableError):
    """The database does not do its work. ``where`` names the file or server, never a password."""


class DatabaseCorruptError(DatabaseError):
    """The file is damaged, or no database at all."""

    HINT = "restore a backup with `innkeeper db restore`, or point INNKEEPER_DATABASE_URL at another file"


class DatabaseFullError(DatabaseError):
    """No room left to write. What was there before is whole."""

    HINT = "make room where the database lies, and repeat"


class DatabaseLockedError(DatabaseError):
    """Another writer held the database for longer than was waited for. Nothing was changed."""

    HINT = "repeat it; if it stays locked, look for a program that holds a transaction open"


class DatabaseMissingError(DatabaseError):
    """There is no such database, and none was to be made."""

    HINT = "`innkeeper db upgrade` makes one"


class DatabaseReadOnlyError(DatabaseError):
    """The database may be read but not written."""

    HINT = "check the permissions of the file and of its folder, or the role at the server"


class DatabaseUnreachableError(DatabaseError):
    """The server does not answer, went away, or refuses the login."""

    HINT = "check INNKEEPER_DATABASE_URL, that the server runs, and that database and login exist"


class SchemaNewerError(DatabaseError):
    """A database that a later Innkeeper made."""

    HINT = "upgrade Innkeeper; a database is not taken back to an earlier schema"


class SchemaOutdatedError(DatabaseError):
    """A database that an earlier Innkeeper made and that was not upgraded."""

    HINT = "`innkeeper db upgrade`"


# --------------------------------------------------------------------------------------------------------------- the vault


class VaultError(UnavailableError):
    """The vault does not do its work. No error of it holds a secret or a key."""


class TamperedSecretError(VaultError):
    """A stored secret that does not open with the key that sealed it: its row was changed, or swapped with another."""

    HINT = "find out who wrote to the table of secrets, then set the secret again"


class VaultKeyError(VaultError):
    """A key that cannot be used: it is none, or others may read its file."""


class VaultKeyMissingError(VaultError):
    """No key: nothing can be sealed or opened."""

    HINT = "`innkeeper vault init` makes one, or set INNKEEPER_VAULT_KEY_FILE or INNKEEPER_VAULT_KEY"


class WrongVaultKeyError(VaultError):
    """A secret that was sealed with a key which is not among those given. Without that key it cannot be opened by anybody."""

    HINT = "give the key it was sealed with beside the present one, or set the secret again"


# ------------------------------------------------------------------------------------------------------------------- tiers


class TierBlockedError(InnkeeperError):
    """A request that may not go on. ``decision`` is ``block`` or ``review``; the text is never part of the error."""

    exit_code = 65
    http_status = 403
    HINT = "no setting lifts an absolute block; what waits for review is for the operator to decide"

    def __init__(
        self, decision: str, tier: str, categories: Iterable[str] = (), reasons: Iterable[str] = (), **kwargs: Any
    ) -> None:
        self.decision, self.tier = decision, tier
        self.categories, self.reasons = tuple(categories), tuple(reasons)
        what = ", ".join(self.categories) or ", ".join(self.reasons) or "not scanned"
        facts: dict[str, Any] = {
            "decision": decision,
            "tier": tier,
            "categories": self.categories,
            "reasons": self.reasons,
        }
        super().__init__(f"the request does not pass in the {tier} tier ({decision}: {what})", **facts, **kwargs)


class DegradedError(InnkeeperError):
    """An answer that is less than what was asked for, where ``strict`` was asked for. ``reasons`` are words for programs."""

    exit_code = 65
    http_status = 422
    HINT = "leave strict out to take what there is"

    def __init__(self, reasons: Iterable[str], **kwargs: Any) -> None:
        self.reasons = tuple(reasons)
        super().__init__(f"only a makeshift answers: {', '.join(self.reasons)}", reasons=list(self.reasons), **kwargs)


# ----------------------------------------------------------------------------------------------------------------- budgets


class OverBudgetError(InnkeeperError):
    """What may not be left out does not fit: ``size`` > ``target``, in ``unit``."""

    exit_code = 65
    http_status = 422
    HINT = "shorten what must stay, or choose a model that takes more"

    def __init__(self, size: int, target: int, unit: str = "tokens", **kwargs: Any) -> None:
        self.size, self.target, self.unit = size, target, unit
        super().__init__(
            f"the prompt takes {size:,} {unit} of {target:,}", size=size, target=target, unit=unit, **kwargs
        )


class SpecError(UsageError):
    """A limit, reserve or budget that leaves no room."""

    HINT = "a limit is above 0 and larger than what is reserved of it"


E = TypeVar("E", bound=InnkeeperError)

_OFFERED: Final = 3
_COMPARED: Final = 5_000


def with_near(error: E, name: str, known: Iterable[str]) -> E:
    """The error, its hint naming up to three known names that are like ``name``, where there are such."""
    import difflib

    near = difflib.get_close_matches(name[:200], list(islice(known, _COMPARED)), n=_OFFERED)
    if near:
        error.hint = f"did you mean {' or '.join(map(repr, near))}?"
        error.details["near"] = near
    return error


@contextmanager
def near_names(name: str, known: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Give errors about an unknown template or row near names; ``known`` is asked only then."""
    try:
        yield
    except (UnknownTemplateError, UnknownRowError) as error:
        raise with_near(error, name, known()) from error.__cause__
