"""Counter: tokens of any text for any model, exact where the vocabulary is at hand, and always with a word on how sure it is.

Counts are remembered in one cache that counters share.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from innkeeper.prompt.allowance import AllowanceError, charge
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import InnkeeperError, UnavailableError
from innkeeper.prompt.text import scalar_text
from innkeeper.prompt.typed.once import once
from innkeeper.tokens.engines.engine import Engine, Tokenization
from innkeeper.tokens.engines.heuristic import CharsPerToken, estimator
from innkeeper.tokens.engines.loading import engine_of
from innkeeper.tokens.engines.model_files import file_tokenizer
from innkeeper.tokens.engines.server import AskServer
from innkeeper.tokens.registry import Entry, entries_of, lookup_of
from innkeeper.tokens.table.calibration import PROFILES
from innkeeper.tokens.table.models import MODELS, Family, ModelTable, Way, canonical_model_hint
from innkeeper.tokens.table.vocabulary import VOCABULARIES, Vocabularies

if TYPE_CHECKING:
    from innkeeper.tokens.framing import Framing


TextKey = tuple[str, str | bytes]
"""A tokenizer's name and a text, or the text's digest."""

_STEPS_A_CHARACTER: Final = 2
_STEPS_A_TOKENIZED_CHARACTER: Final = 10

DIGEST_ABOVE: Final = 1024
"""Texts of more characters are remembered by a digest, not by themselves."""

_DIGEST_BYTES: Final = 20


def text_key(tokenizer: str, text: str) -> TextKey:
    """The key of a text: itself, or a digest of 20 bytes where it is long."""
    if len(text) <= DIGEST_ABOVE:
        return tokenizer, text
    return tokenizer, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def key_bytes(key: TextKey) -> int:
    """The bytes charged for a cache key."""
    return sys.getsizeof(key[1])


SHARED_COUNTS: Final[BoundedCache[TextKey, int]] = BoundedCache(items=200_000, size=64 * 1024 * 1024)
"""The cache that counters share unless they are given one of their own. Counts are facts, so sharing changes no result."""


T = TypeVar("T")

_ROUTES: Final = 512
"""The number of model ids a counter keeps resolved; then it starts again."""

_LONGEST_MODEL: Final = 200
"""The longest model id that is cached."""

_LAST: Final = Way("heuristic:generic", PROFILES["generic"].error)


class EngineChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a model is counted if nothing fails: the engine, its quality, and the source of that knowledge.

    ``error_percent`` is 0 for the model's own vocabulary, else the ± of the estimate; None where nobody knows (a user's
    tokenizer file). ``source``: ``table``, ``registry`` or ``default``. ``skipped`` are better ways that were not
    available, with the reason.
    """

    model: str | None
    engine: Engine
    family: str
    error_percent: float | None
    source: str
    pattern: str = ""
    basis: str = ""
    entry: Entry | None = None
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def exact(self) -> bool:
        """Whether this is the model's own tokenizer."""
        return self.error_percent == 0


class Preloaded(msgspec.Struct, frozen=True):
    """The result of `Counter.preload`: the names that are loaded, and the reason for each that could not be."""

    loaded: tuple[str, ...] = ()
    failed: dict[str, str] = {}


class Counter:
    """Counts tokens. `count`, `count_many`, `tokenize` and `describe` never raise, whatever the text or the model id.

    But where a build has spent its allowance (`AllowanceError`): texts are charged to it that the cache does not hold.

    The user's ``registry`` is asked first, then the table of models; models that neither knows are estimated; no model
    means ``default``. Where a tokenizer is not available or fails, the next way of its family is taken, then ``default``,
    then the generic estimate, then 0; `describe` tells.

    Args:
        registry: a user's own tokenizers, see `innkeeper.tokens.registry`.
        models: the table of models.
        vocabularies: the table of vocabularies.
        default: a vocabulary or ``heuristic:<profile>``, for texts without a model.
        cache: where counts are remembered.
        framing: how the messages of the one model that this counter is for are counted (`innkeeper.tokens.Framing`).
        source: the name by which a replay finds the same counter, such as ``local:smollm2``; without one it is not data.

    Raises:
        ConfigError: the registry cannot be asked.
    """

    def __init__(
        self,
        registry: Any = None,
        *,
        models: ModelTable = MODELS,
        vocabularies: Vocabularies = VOCABULARIES,
        default: str = "o200k_base",
        cache: BoundedCache[TextKey, int] = SHARED_COUNTS,
        framing: Framing | None = None,
        source: str = "",
    ) -> None:
        self.framing = framing
        self.source = source
        self.registry = registry
        self.models = models
        self.vocabularies = vocabularies
        self.default = default
        self.cache = cache
        self._lookup = lookup_of(registry)
        self._choices: dict[str | None, EngineChoice] = {}

    # ------------------------------------------------------------------------------------------------- counting

    def count(self, text: str, model: str | None = None) -> int:
        """Tokens of ``text`` for ``model`` (an id or hint; None for the default)."""
        text = _text(text)
        engine = self.choose(model).engine
        key = text_key(engine.name, text)
        known = self.cache.get(key)
        return self._count_one(engine, key, text) if known is None else known

    estimate = count
    """TavernKit's name for `count`."""

    def count_many(self, texts: Iterable[str], model: str | None = None) -> list[int]:
        """Count the tokens of each text: those not in the cache in one batch, each distinct text once."""
        checked = [_text(text) for text in texts]
        engine = self.choose(model).engine
        keys = [text_key(engine.name, text) for text in checked]
        known = {key: self.cache.get(key) for key in dict.fromkeys(keys)}
        missing = {key: text for key, text in zip(keys, checked, strict=True) if known[key] is None}
        if missing:
            known |= self._count_missing(engine, missing)
        return [known[key] or 0 for key in keys]

    def _count_missing(self, engine: Engine, missing: Mapping[TextKey, str]) -> dict[TextKey, int]:
        charge("tokens", _STEPS_A_CHARACTER * sum(map(len, missing.values())))
        counts = _attempt(partial(engine.count_many, list(missing.values())))
        if counts is None or len(counts) != len(missing):  # one bad text must not spoil the batch
            return {key: self._count_one(engine, key, text) for key, text in missing.items()}
        return {key: self.cache.put(key, count, key_bytes(key)) for key, count in zip(missing, counts, strict=True)}

    def _count_one(self, engine: Engine, key: TextKey, text: str) -> int:
        charge("tokens", _STEPS_A_CHARACTER * len(text))
        count = _attempt(partial(engine.count, text))
        return self._rescue(text) if count is None else self.cache.put(key, count, key_bytes(key))

    def _rescue(self, text: str) -> int:
        """The count of a text on which its engine failed: by the default, by the estimate, or 0."""
        for tokenizer in (self.default, _LAST.tokenizer):
            count = _attempt(partial(self._count_by, tokenizer, text))
            if count is not None:
                return count
        return 0

    def _count_by(self, tokenizer: str, text: str) -> int:
        return self._engine(tokenizer).count(text)

    def tokenize(self, text: str, model: str | None = None) -> Tokenization:
        """The text taken apart, as far as the model's tokenizer can; ``details`` as `describe`."""
        text = _text(text)
        charge("tokens", _STEPS_A_TOKENIZED_CHARACTER * len(text))
        choice = self.choose(model)
        tokenization = _attempt(partial(choice.engine.tokenize, text))
        if tokenization is None:
            tokenization = Tokenization(backend=_LAST.tokenizer, count=self._rescue(text))
        return msgspec.structs.replace(tokenization, details=self.describe(model))

    # ------------------------------------------------------------------------------------------------- choosing

    def choose(self, model: str | None = None) -> EngineChoice:
        """Choose how ``model`` is counted."""
        choice = self._choices.get(model)
        if choice is None:
            choice = self._choose(model)
            is_cached = model is None or len(model) <= _LONGEST_MODEL
            if is_cached and (choice.entry is None or not choice.entry.wants_file):  # a file may change or appear
                if len(self._choices) >= _ROUTES:
                    self._choices.clear()
                self._choices[model] = choice
        return choice

    def _choose(self, model: str | None) -> EngineChoice:
        name = _text(model) if model else ""
        entry = self._lookup(name) or self._lookup(canonical_model_hint(name))
        if isinstance(entry, Entry):
            return self._by_entry(name, entry)
        if entry is not None:
            return EngineChoice(model, entry, "registry", getattr(entry, "error_percent", None), "registry")
        if not name:
            return self._first(None, self._default, source="default")
        match = self.models.find(name)
        if match is None:
            return self._first(name, self.models.family("unknown"), source="default")
        return self._first(name, match.family, source="table", pattern=match.pattern)

    def _by_entry(self, model: str, entry: Entry) -> EngineChoice:
        """A user's entry: its file, its heuristic, a tokenizer or family by name, or the default."""
        family = entry.tokenizer_family.replace("_", "-")
        if entry.wants_file:
            tokenizer = _reason(partial(file_tokenizer, entry.tokenizer_path))
            if not isinstance(tokenizer, str):
                return EngineChoice(model, tokenizer, "file", entry.error, "registry", entry=entry)
            choice = self._first(model, self._known(model), source="registry")
            return msgspec.structs.replace(
                choice, entry=entry, skipped=((entry.tokenizer_path, tokenizer), *choice.skipped)
            )
        if family == "heuristic" and entry.chars_per_token is not None:
            engine = CharsPerToken(entry.chars_per_token)
            return EngineChoice(model, engine, "heuristic", entry.error, "registry", entry=entry)
        if family == "heuristic":
            profile = self._known(model).ways[-1]
            way = profile if profile.tokenizer.startswith("heuristic:") else _LAST
            choice = self._first(model, Family("heuristic", (way,)), source="registry")
        else:
            choice = self._first(model, self._named(entry.tokenizer_family), source="registry")
        error = choice.error_percent if entry.error is None else entry.error
        return msgspec.structs.replace(choice, entry=entry, error_percent=error)

    def _known(self, model: str) -> Family:
        match = self.models.find(model)
        return self.models.family("unknown") if match is None else match.family

    def _named(self, name: str) -> Family:
        """A family or vocabulary by a name that may be written with ``_`` or ``-``; otherwise the default."""
        spellings = {name, name.replace("_", "-")}
        for family in self.models.families:
            if family.name in spellings:
                return family
        for vocabulary in self.vocabularies:
            if vocabulary in spellings:
                return Family(vocabulary, (Way(vocabulary, 0.0),))
        return self._default

    @property
    def _default(self) -> Family:
        return Family("default", (Way(self.default, 45.0),), "no model is named; vocabularies differ by this much")

    def _first(self, model: str | None, family: Family, *, source: str, pattern: str = "") -> EngineChoice:
        """The first way of a family that is available, then the default, then the generic estimate."""
        skipped: list[tuple[str, str]] = []
        for way in (*family.ways, *self._default.ways, _LAST):
            engine = _reason(partial(self._engine, way.tokenizer))
            if not isinstance(engine, str):
                break
            skipped.append((way.tokenizer, engine))
        else:  # pragma: no cover - the generic estimate is always there
            engine, way = CharsPerToken(), _LAST
        basis = family.basis if way in family.ways and way.error else ""
        return EngineChoice(
            model, engine, family.name, way.error, source, pattern=pattern, basis=basis, skipped=tuple(skipped)
        )

    def _engine(self, tokenizer: str) -> Engine:
        kind, _, profile = tokenizer.partition(":")
        return estimator(profile) if kind == "heuristic" else engine_of(self.vocabularies[tokenizer])

    def special_tokens(self, model: str | None = None) -> tuple[str, ...]:
        """Texts that OpenAI's libraries refuse to count with the tokenizer of ``model``. Counters count them as text."""
        name = self.choose(model).engine.name
        return self.vocabularies[name].special if name in self.vocabularies else ()

    # ------------------------------------------------------------------------------------------------ reporting

    def describe(self, model: str | None = None) -> dict[str, Any]:
        """Describe how ``model`` is counted, as JSON-ready data.

        ``backend``, ``tokenizer``, ``family``, ``exact``, ``error_percent`` (0 where exact, None where unknown),
        ``source`` and what led there; ``fallbacks`` lists better ways that are not available, with reasons. For a
        user's entry also TavernKit's ``registry_*`` fields.
        """
        choice = self.choose(model)
        facts = {
            "model": model,
            "backend": choice.engine.backend,
            "tokenizer": choice.engine.name,
            "family": choice.family,
            "exact": choice.exact,
            "error_percent": choice.error_percent,
            "source": choice.source,
            "pattern": choice.pattern or None,
            "basis": choice.basis or None,
            "fallbacks": [{"tokenizer": name, "reason": reason} for name, reason in choice.skipped] or None,
            **_engine_facts(choice.engine),
            **(_entry_facts(choice.entry, model) if choice.entry else {}),
        }
        keep = {"model", "exact", "error_percent"}
        return {name: fact for name, fact in facts.items() if fact is not None or name in keep}

    def preload(self, models: Iterable[str] = (), *, strict: bool = False) -> Preloaded:
        """Load the default, the registry's files and the tokenizers of ``models`` now instead of at the first count.

        Raises:
            UnavailableError: with ``strict``, when one could not be loaded; ``details["failed"]`` has the reason of each.
        """
        jobs: dict[str, Callable[[], object]] = {self.default: partial(self._engine, self.default)}
        for entry in entries_of(self.registry):
            if isinstance(entry, Entry) and entry.wants_file:
                jobs[entry.tokenizer_path] = partial(file_tokenizer, entry.tokenizer_path)
        for model in models:
            best = self._known(model).ways[0].tokenizer
            jobs[best] = partial(self._engine, best)
        results = {name: _reason(job) for name, job in jobs.items()}
        failed = {name: result for name, result in results.items() if isinstance(result, str)}
        if failed and strict:
            listed = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
            raise UnavailableError(f"{len(failed)} tokenizer(s) could not be loaded: {listed}", failed=failed)
        return Preloaded(tuple(name for name in results if name not in failed), failed)


def _entry_facts(entry: Entry, model: str | None) -> dict[str, Any]:
    return {
        "registry": True,
        "source": entry.source,
        "registry_tokenizer_family": entry.tokenizer_family or None,
        "registry_tokenizer_path": entry.tokenizer_path or None,
        "registry_source_hint": entry.source_hint,
        "registry_source_repo": entry.source_repo,
        "registry_model_hint": model,
        "ignored": list(entry.ignored) or None,
    }


def _engine_facts(engine: Engine) -> dict[str, Any]:
    if engine.backend == "tiktoken":
        return {"encoding": engine.name}
    if isinstance(engine, CharsPerToken):
        return {"chars_per_token": engine.chars_per_token}
    if isinstance(engine, AskServer):
        return {"given_up": engine.given_up}
    return {}


def _text(value: Any) -> str:
    """Any value as text without lone surrogates; None is an empty text."""
    if isinstance(value, str):
        return scalar_text(value)
    if value is None:
        return ""
    try:
        text = value.decode("utf-8", "replace") if isinstance(value, (bytes, bytearray)) else str(value)
    except Exception:  # noqa: BLE001 - an object that cannot be printed has no text
        return ""
    return scalar_text(text)


def _attempt(work: Callable[[], T]) -> T | None:
    """The result, or None when it fails: also by a panic of a Rust library, which is not an `Exception`.

    That a build has spent its allowance is no failure of an engine: no other is asked.
    """
    try:
        return work()
    except (AllowanceError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # noqa: BLE001
        return None


def _reason(work: Callable[[], T]) -> T | str:
    """The result, or why there is none."""
    try:
        return work()
    except InnkeeperError as error:
        return str(error) + (f" ({error.hint})" if error.hint else "")
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"


@once
def default_counter() -> Counter:
    """The counter without a registry, which a build uses unless it is given another."""
    return Counter()
