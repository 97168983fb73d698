"""ReplayBundle: a request with the fingerprint its plan had, in a file that gives the same bytes again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.prompt.data import parse_json, to_json
from innkeeper.prompt.display import shorten
from innkeeper.prompt.errors import (
    FormatError,
    InnkeeperError,
    ReplayError,
    UnavailableError,
    UnsupportedError,
    UsageError,
    Where,
)
from innkeeper.prompt.request import BuildRequest
from innkeeper.version import VERSION

if TYPE_CHECKING:
    from innkeeper.prompt.plan import Plan

__all__ = ["BUNDLE_FORMAT", "ReplayBundle"]

BUNDLE_FORMAT: Final = 1
"""The version of the bundle's own shape."""


class ReplayBundle(msgspec.Struct, frozen=True):
    """A request and what it gave: ``fingerprint`` in ``dialect``, under engine ``version``."""

    request: BuildRequest
    fingerprint: str
    dialect: str
    version: str

    @classmethod
    def of(cls, plan: Plan, dialect: str | None = None) -> ReplayBundle:
        """The bundle of a plan. Raises `ReplayError` when the plan had inputs that are not data."""
        if plan.request is None or plan.unreplayable:
            missing = ", ".join(plan.unreplayable) or "the request"
            msg = f"this plan cannot be replayed: {missing} cannot be stored"
            raise ReplayError(msg, hint="build from a BuildRequest, without hooks or steps of your own")
        name = dialect or plan.dialect or "openai"
        try:
            plan.request.to_json()
        except UsageError as error:
            raise ReplayError(f"this plan cannot be replayed: {error.message}", hint=error.hint) from error
        return cls(plan.request, plan.fingerprint(name), name, VERSION)

    def to_json(self) -> bytes:
        """The bundle as JSON, with every key of the request in its order."""
        return to_json(
            {
                "innkeeper_replay": BUNDLE_FORMAT,
                "version": self.version,
                "dialect": self.dialect,
                "fingerprint": self.fingerprint,
                "request": self.request.to_dict(),
            },
            sort=False,
        )

    @classmethod
    def from_json(cls, text: str | bytes, *, asset: str = "bundle") -> ReplayBundle:
        """The bundle that `to_json` wrote. Raises `FormatError`, `UnsupportedError` or `LimitError`."""
        data = parse_json(text, asset=asset)
        if not isinstance(data, dict) or "innkeeper_replay" not in data:
            msg = "not a replay bundle: innkeeper_replay is missing"
            raise FormatError(msg, where=Where(asset=asset), hint="write one with plan.replay().write(path)")
        written = data["innkeeper_replay"]
        if type(written) is not int or written != BUNDLE_FORMAT:
            name = written if isinstance(written, str) or type(written) is int else type(written).__name__
            msg = f"replay bundle of format {shorten(str(name), 20)}; this version reads {BUNDLE_FORMAT}"
            raise UnsupportedError(msg, where=Where(asset=asset))
        texts = [item for key in ("fingerprint", "dialect", "version") if isinstance(item := data.get(key), str)]
        if len(texts) != len(("fingerprint", "dialect", "version")):
            msg = "not a replay bundle: fingerprint, dialect and version must be text"
            raise FormatError(msg, where=Where(asset=asset))
        try:
            return cls(BuildRequest.of(data.get("request")), *texts)
        except InnkeeperError as error:
            path = ".".join(part for part in ("request", error.where.path if error.where else None) if part)
            error.where = Where(asset=asset, path=path)
            raise

    @classmethod
    def read(cls, path: str | Path) -> ReplayBundle:
        """The bundle in a file. Raises `FormatError`, also when the file cannot be read."""
        try:
            return cls.from_json(Path(path).read_bytes(), asset=str(path))
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot read: {_reason(error)}", where=Where(asset=str(path))) from error

    def write(self, path: str | Path) -> None:
        """Write the bundle to a file, whole or not at all. Raises `UnavailableError` when it cannot be written."""
        data = self.to_json()
        try:
            target = Path(path)
            draft = target.with_name(target.name + ".part")
            try:
                draft.write_bytes(data)
                draft.replace(target)
            finally:
                draft.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            raise UnavailableError(f"cannot write: {_reason(error)}", where=Where(asset=str(path))) from error

    def check(self, plan: Plan) -> Plan:
        """The rebuilt ``plan`` if it has the recorded fingerprint. Raises `ReplayError` with both versions otherwise."""
        rebuilt = plan.fingerprint(self.dialect)
        if rebuilt == self.fingerprint:
            return plan
        msg = f"the rebuilt plan has fingerprint {rebuilt[:16]}…, recorded was {self.fingerprint[:16]}…"
        raise ReplayError(
            msg, hint=f"the bundle is from version {self.version}", found=rebuilt, recorded=self.fingerprint
        )


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
