"""OpenProfile: a profile with its files read, as the build request that all turns have in common.

Its files are read once; `Profiles` reads them anew when one of them has changed. What a file holds is kept by its content on the
floor below, so that two profiles with one lorebook have one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeVar

import msgspec

from innkeeper.content.finding import Finding
from innkeeper.prompt import BuildRequest, FrozenDict, InnkeeperError, UnavailableError, UnknownNameError, UsageError
from innkeeper.prompt.data import EMPTY, to_json
from innkeeper.prompt.errors import LimitError, Where
from innkeeper.taverns.asset_fields import AssetFields, load_as
from innkeeper.taverns.profiles.files import MAX_FILES, MAX_VOLUME, DocumentFiles, FolderFiles, ProfileFiles
from innkeeper.taverns.profiles.profile import MAX_PROFILE_BYTES, Profile, parse_profile
from innkeeper.taverns.registry import rewrites_replies

PROFILE_FILE: Final = "profile.toml"
"""The file that makes a folder a profile."""

MAX_PROFILES: Final = 1_000
"""Profiles that one service has (`LimitError`)."""


class OpenProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A profile and its ``request``. ``digest`` (SHA-256, hex) is of the profile and of all its files.

    ``findings`` say what was not right in its files, by their names; ``rewrites`` whether regex scripts may change answers.
    """

    profile: Profile
    request: BuildRequest
    digest: str
    findings: tuple[tuple[str, Finding], ...] = ()
    rewrites: bool = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self.profile.name


def open_profile(
    source: Path | str | Mapping[str, Any] | Profile, files: Mapping[str, bytes] | None = None
) -> OpenProfile:
    """The profile in a folder, or one that is given with its files by name.

    Raises:
        UnavailableError: the folder, or a file, is not there.
        FileNameError: a name leads out of the folder.
        FormatError, ConfigError: ``profile.toml`` cannot be read; what the readers of content raise, with the file's name.
        LimitError: too many files, or too large.
    """
    if isinstance(source, (Profile, Mapping)):
        return _opened(Profile.of(source), DocumentFiles(files or {}))
    return _from_folder(FolderFiles(Path(source)))


def _from_folder(files: FolderFiles) -> OpenProfile:
    folder = files.folder
    if not is_profile(folder):
        hint = f"innkeeper profile new {folder.name} CARD writes one"
        raise UnavailableError("this folder is no profile: it has no profile.toml", where=Where(str(folder)), hint=hint)
    return _opened(_document(files), files, str(folder / PROFILE_FILE))


def is_profile(folder: Path) -> bool:
    """Whether a folder holds a profile."""
    return os.path.isfile(os.path.join(folder, PROFILE_FILE))  # noqa: PTH113, PTH118 - asked with every turn: quicker


def profile_folders(folder: Path) -> tuple[Path, ...]:
    """The profiles that a folder means: itself, or those right below it, by their names.

    Raises `UnavailableError` where there is none.
    """
    if is_profile(folder):
        return (folder,)
    profiles = sorted(path for path in folder.glob("*") if is_profile(path)) if folder.is_dir() else []
    if not profiles:
        hint = "innkeeper profile new FOLDER CARD writes one"
        raise UnavailableError("there is no profile here", where=Where(str(folder)), hint=hint)
    return tuple(profiles)


def _opened(profile: Profile, files: ProfileFiles, asset: str = "profile") -> OpenProfile:
    names = profile.files
    if len(names) > MAX_FILES:
        raise LimitError("the files of a profile", limit="MAX_FILES", allowed=MAX_FILES, found=len(names))
    read: dict[str, bytes] = {}
    for name in names:
        read[name] = _read(files, name, asset)
        size = sum(map(len, read.values()))
        if size > MAX_VOLUME:
            raise LimitError("all files of a profile", limit="MAX_VOLUME", allowed=MAX_VOLUME, found=size)
    digests = [(name, hashlib.sha256(data).hexdigest()) for name, data in read.items()]
    digest = hashlib.sha256(to_json([profile.to_dict(), digests])).hexdigest()
    assets = _Assets(read)
    request = _request(profile, assets)
    findings = tuple(assets.findings)
    return OpenProfile(
        profile=profile, request=request, digest=digest, findings=findings, rewrites=rewrites_replies(request)
    )


def _read(files: ProfileFiles, name: str, asset: str) -> bytes:
    try:
        return files.read(name)
    except UsageError as error:
        raise error.at(asset=asset) from None


class _Assets:
    """The assets of a profile, out of its files or written in it."""

    def __init__(self, read: Mapping[str, bytes]) -> None:
        self._read = read
        self.findings: list[tuple[str, Finding]] = []

    def load(self, kind: str, item: Any) -> Any:
        """What a file holds, or the content itself."""
        if not isinstance(item, str):
            return item
        try:
            value = load_as(kind, self._read[item])
        except InnkeeperError as error:
            raise error.at(asset=item) from error.__cause__
        self.findings += [(item, finding) for finding in getattr(value, "findings", ())]
        return value


def _request(profile: Profile, assets: _Assets) -> BuildRequest:
    fields = AssetFields()
    for item in profile.preset:
        preset = assets.load("preset", item)
        if isinstance(preset, Mapping):
            fields.fields["preset"] = preset
        else:
            fields.put(preset, item)
    own = fields.fields.pop("settings", {})
    cards = [_card(card, assets) for card in profile.cards]
    values = {
        "tavern": profile.tavern,
        "profile": profile.variant,
        "character": cards[0] if cards and profile.group is None else None,
        "group": None if profile.group is None else {**profile.group, "members": tuple(cards)},
        "user": None if profile.persona is None else assets.load("persona", profile.persona),
        "lorebooks": tuple(assets.load("lorebook", item) for item in profile.lorebooks),
        "variables": profile.variables,
        "macro_vars": profile.macro_vars,
        "authors_note": profile.authors_note,
        "settings": FrozenDict(_merged(own, profile.settings)),
        "meta": profile.meta,
        "options": profile.options,
        "dialect": profile.dialect,
        "context_window": profile.context_window,
        "limits": profile.limits,
        "locale": profile.locale,
        "model": profile.model,
        "reserved_tokens": profile.reserve,
        "now": None if profile.now == "clock" else profile.now,
        "seed": profile.seed if isinstance(profile.seed, int) else None,
        **fields.fields,
    }
    return BuildRequest.of({name: value for name, value in values.items() if value not in (None, (), EMPTY)})


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Mapping[str, Any]:
    from innkeeper.prompt import deep_merge

    return deep_merge(base, over)


def _card(item: Any, assets: _Assets) -> Any:
    """A card, or the member of a group with its file's name and tags."""
    if isinstance(item, Mapping) and "card" in item:
        named = {"filename": item["card"]} if isinstance(item["card"], str) else {}
        return {**named, **item, "card": assets.load("card", item["card"])}
    return assets.load("card", item)


_LOOK_SECONDS: Final = 1.0
_T = TypeVar("_T")


class Profiles(Mapping[str, OpenProfile]):
    """The profiles of these folders, each a profile's own or one that holds several, by their names.

    Folders are looked into when this is made, by `refresh`, and when a name is asked for that is not there, at most once a
    second. A profile is read when it is asked for, and anew when one of its files has changed. Safe between threads.

    Args:
        folders: the folders.
        stored: a folder whose profiles come and go, and in which there may be none.

    Raises:
        UnavailableError: a folder without a profile.
        UsageError: two profiles have one name.
        LimitError: too many.
    """

    def __init__(self, folders: Iterable[Path | str] = (), stored: Path | None = None) -> None:
        self._sources, self._stored = tuple(Path(folder) for folder in folders), stored
        self._lock = Lock()
        self._open: dict[Path, tuple[OpenProfile, FolderFiles]] = {}
        self._documents: dict[Path, tuple[Profile, FolderFiles]] = {}
        self._folders: dict[str, Path] = {}
        self._next_look = 0.0
        self.refresh()

    def refresh(self) -> None:
        """Look for profiles in the folders again. Raises as making it does."""
        self._next_look = monotonic() + _LOOK_SECONDS
        by_name: dict[str, Path] = {}
        stored = () if self._stored is None else sorted(path for path in self._stored.glob("*") if is_profile(path))
        for folders in (*map(profile_folders, self._sources), stored):
            for folder in folders:
                name = _document(FolderFiles(folder)).name
                if by_name.setdefault(name, folder) != folder:
                    where, hint = Where(str(folder)), f"{by_name[name]} is {name!r} already; give one another name"
                    raise UsageError(f"two profiles are called {name!r}", where=where, hint=hint)
        if len(by_name) > MAX_PROFILES:
            raise LimitError("profiles", limit="MAX_PROFILES", allowed=MAX_PROFILES, found=len(by_name))
        self._folders = by_name

    def __getitem__(self, name: str) -> OpenProfile:
        """The profile of this name. Raises `UnknownNameError`, which is no `KeyError`, and as `open_profile`."""
        known = self._same(name, self._open)
        if known is not None:
            return known
        folder = self.folder(name)
        with self._lock:
            files = FolderFiles(folder)
            self._open[folder] = (_from_folder(files), files)
            return self._open[folder][0]

    def __contains__(self, name: object) -> bool:
        """Whether there is a profile of this name."""
        if name not in self._folders and monotonic() >= self._next_look:
            with suppress(InnkeeperError):
                self.refresh()
        return name in self._folders

    def __iter__(self) -> Iterator[str]:
        """The names, sorted."""
        return iter(sorted(self._folders))

    def __len__(self) -> int:
        """How many."""
        return len(self._folders)

    def document(self, name: str) -> Profile:
        """What a profile says, without its files: read anew when its document has changed. Raises as `open_profile`."""
        known = self._same(name, self._documents)
        if known is None:
            folder = self.folder(name)
            files = FolderFiles(folder)
            known, _ = self._documents[folder] = (_document(files), files)
        return known

    def _same(self, name: str, cached: Mapping[Path, tuple[_T, FolderFiles]]) -> _T | None:
        """What was read of a profile, where its files are as they were."""
        folder = self._folders.get(name)
        known = None if folder is None else cached.get(folder)
        return known[0] if known is not None and known[1].is_same() else None

    def folder(self, name: str) -> Path:
        """Where a profile is. Raises `UnknownNameError`."""
        if name in self and not is_profile(self._folders[name]):  # it has gone since
            with suppress(InnkeeperError):
                self.refresh()
        if name not in self:
            raise UnknownNameError("profile", name, self._folders)
        return self._folders[name]


def _document(files: FolderFiles) -> Profile:
    """What the profile in a folder says; its other files need not be there."""
    folder = files.folder
    data = files.read(PROFILE_FILE, limit="MAX_PROFILE_BYTES", allowed=MAX_PROFILE_BYTES)
    return parse_profile(data, name=folder.resolve().name, asset=str(folder / PROFILE_FILE))
