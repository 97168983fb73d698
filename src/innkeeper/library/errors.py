"""What can go wrong with the library: one class for each thing that a caller can do about it.

::

    UsageError
    ├── AlreadyExistsError          a name or key that is taken (409)
    ├── ConflictError               somebody else changed it first (409)
    ├── NotFoundError               no template, version, label, row or secret of this name (404)
    └── TemplateNotFoundError       no template answers a request; no other label stands in (404)
    InputError
    ├── FieldError                  a value of a wrong kind, or one that cannot be stored; says which
    ├── InvalidTemplateError        a template that may not be published, or whose parts do not fit; lists every problem
    ├── MissingVariablesError       required variables without a value; lists them
    └── TransferError               an import that is not what an export writes; says line and column
    UnavailableError
    ├── DatabaseError               the database does not do its work
    │   ├── DatabaseCorruptError    its file is damaged, or not a database
    │   ├── DatabaseLockedError     another writer held it for too long
    │   ├── DatabaseMissingError    no such file, and none was to be made
    │   ├── DatabaseReadOnlyError   it cannot be written: no permission, or no room
    │   ├── DatabaseUnreachableError  the server does not answer, or refuses the login
    │   └── SchemaError             made by an earlier Innkeeper and not upgraded, or by a later one
    └── VaultError                  the vault does not do its work
        ├── TamperedSecretError     a stored secret is not what was stored under its name
        ├── VaultKeyError           a key that cannot be used: not one, open to others, or another than sealed the secret
        └── VaultKeyMissingError    no key at all
    InnkeeperError
    ├── OverBudgetError             what must stay does not fit (422)
    └── TierBlockedError            a request whose tier decision does not let it pass (403)

Backups, snapshots and detection lists that cannot be read raise `FormatError`, budgets that leave no room `ConfigError`, what
``strict`` refuses `StrictModeError`, a query that is not read-only `UsageError`. A template that cannot be read raises
`MacroSyntaxError`, one beyond a limit `MacroLimitError`, as templates of any language do; ``TemplateSyntaxError`` and
``TemplateLimitError`` are other names for them.

`is_storable` says whether a text can be an id at all.

`with_near` and `suggesting` add to the error of an unknown name the known names that were probably meant. `need` and
`need_texts` refuse fields of a request that are of a wrong kind, naming the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

from innkeeper.prompt.errors import FormatError, InnkeeperError, InputError, UnavailableError, UsageError, Where
from innkeeper.prompt.near import near_names
from innkeeper.prompt.text import kind_of
from innkeeper.prompt.tier import TierBlockedError as TierBlockedError  # noqa: PLC0414 - one of the library's, too

# ------------------------------------------------------------------------------------------------------ mistakes of callers


class AlreadyExistsError(UsageError):
    """A name, or what must be unique beside it, that another row has: two templates with one key under one label, for one."""

    http_status = 409


SAME_KEY: Final = "take the label off the other template first, or give this one another key"
"""How two templates with one key under one label are mended."""


class ConflictError(UsageError):
    """A change that was based on a state which is no longer the present one."""

    http_status = 409
    HINT = "read it again and repeat the change"


class NotFoundError(UsageError):
    """No template, version, label, row or secret of this name or id. A label is never replaced by another."""

    http_status = 404


class TemplateNotFoundError(UsageError):
    """No template with the label asked for answers a request, or only a makeshift does where ``strict`` was asked."""

    http_status = 404
    HINT = "`innkeeper admin template resolve` shows every level that was tried"


# ------------------------------------------------------------------------------------------------------------ outside data


class FieldError(InputError):
    """A value of a wrong kind or out of range, or one that cannot be stored. ``where`` names its field; no secret is shown."""


class InvalidTemplateError(InputError):
    """A template that may not be published, or whose parts do not fit together.

    ``problems`` are all of them, each with its place where it has one. ``code`` is a word for programs where one part is what
    does not fit: ``unknown_partial``, ``partial_cycle``.
    """

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


class TransferError(FormatError):
    """Text that is no export of the library. ``where`` says at which line and column, or at which path."""

    HINT = "nothing was imported; mend the place shown and import again"


# ------------------------------------------------------------------------------------------------------------ the database


class DatabaseError(UnavailableError):
    """The database does not do its work. ``where`` names the file or server, never a password."""


class DatabaseCorruptError(DatabaseError):
    """The file is damaged, or no database at all."""

    HINT = "restore a backup with `innkeeper admin db restore`, or point INNKEEPER_DATABASE_URL at another file"


class DatabaseLockedError(DatabaseError):
    """Another writer held the database for longer than was waited for. Nothing was changed."""

    HINT = "repeat it; if it stays locked, look for a program that holds a transaction open"


class DatabaseMissingError(DatabaseError):
    """There is no such database, and none was to be made."""

    HINT = "`innkeeper admin db upgrade` makes one"


class DatabaseReadOnlyError(DatabaseError):
    """The database may be read but not written, for want of permission or of room. What was there before is whole."""

    HINT = "check the permissions of the file and of its folder, or the role at the server"


class DatabaseUnreachableError(DatabaseError):
    """The server does not answer, went away, or refuses the login."""

    HINT = "check INNKEEPER_DATABASE_URL, that the server runs, and that database and login exist"


class SchemaError(DatabaseError):
    """A database that an earlier Innkeeper made and that was not upgraded, or one that a later Innkeeper made."""

    HINT = "`innkeeper admin db upgrade`"


# --------------------------------------------------------------------------------------------------------------- the vault


class VaultError(UnavailableError):
    """The vault does not do its work. No error of it holds a secret or a key."""


class TamperedSecretError(VaultError):
    """A stored secret that does not open with the key that sealed it: its row was changed, or swapped with another."""

    HINT = "find out who wrote to the table of secrets, then set the secret again"


class VaultKeyError(VaultError):
    """A key that cannot be used: it is not one, others may read its file, or the secret was sealed with another."""


class VaultKeyMissingError(VaultError):
    """No key: nothing can be sealed or opened."""

    HINT = "`innkeeper admin vault init` makes one, or set INNKEEPER_VAULT_KEY_FILE or INNKEEPER_VAULT_KEY"


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


E = TypeVar("E", bound=InnkeeperError)

_OFFERED: Final = 3


def with_near(error: E, name: str, known: Iterable[str]) -> E:
    """The error, its hint naming up to three known names that are like ``name``, where there are such."""
    near = near_names(name, known, _OFFERED)
    if near:
        error.hint = f"did you mean {' or '.join(map(repr, near))}?"
        error.details["near"] = near
    return error


@contextmanager
def suggesting(name: str, known: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Give errors about an unknown name near names; ``known`` is asked only then."""
    try:
        yield
    except NotFoundError as error:
        names = tuple(known())
        raise (error if name in names else with_near(error, name, names)) from error.__cause__


_UNHELD: Final = re.compile("[\0\ud800-\udfff]")


def need_texts(owner: Any, needed: Iterable[str], optional: Iterable[str]) -> None:
    """Each of these fields is a text that a database holds, so that no record of it fails; those of ``optional`` may be None.

    Raises `FieldError`.
    """
    for name in needed:
        _need_text(name, getattr(owner, name), "text")
    for name in optional:
        if (value := getattr(owner, name)) is not None:
            _need_text(name, value, "text or nothing")


def need(name: str, value: Any, kinds: type | tuple[type, ...], what: str) -> None:
    """A field is of one of these kinds; a truth value is no number. Raises `FieldError`."""
    accepted = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
        _refuse(name, what, value)


def is_storable(value: Any) -> bool:
    """Whether a value is a text that both databases hold, so that a row may have it for its id."""
    return isinstance(value, str) and not _UNHELD.search(value)


def _need_text(name: str, value: Any, what: str) -> None:
    if not isinstance(value, str):
        _refuse(name, what, value)
    if not value.isalnum() and _UNHELD.search(value):
        raise FieldError(f"{name} holds a character that cannot be stored", where=Where(path=name))


def _refuse(name: str, what: str, value: Any) -> NoReturn:
    raise FieldError(f"{name} must be {what}, not {kind_of(value)}", where=Where(path=name))
