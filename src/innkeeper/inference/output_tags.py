"""Control tags in answers are made regular, renamed or taken out, while code and escaped tags stay (``context.output_tags``).

Sanitizers run first, then the rules, which strip a tag, drop it with its content, or rename it. This is for finished answers (the
tool loop's and the directives'), never for the answer to a single request: a caller who wants the text as the model wrote it gets
it from `PromptRunner`.

Tags are found in one pass. The ``lang_spans`` sanitizer writes mixed-language spans as ``<lang code="ja-JP">…</lang>``, well
formed and without nesting.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from innkeeper.prompt import thaw
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.prompt.run.context import read_config, refuse_config, section_of
from innkeeper.prompt.typed.once import convert
from innkeeper.text.verbatim import CODE_ZONES, Escape, Zone, mask, unmask

_LOG: Final = logging.getLogger(__name__)

Sanitizer = Callable[[str, Mapping[str, Any]], tuple[str, list[str]]]
"""``(text, options) -> (text, warnings)``."""


class TagResult(msgspec.Struct, frozen=True):
    """The text after the transformation, and what was wrong with it."""

    text: str
    warnings: tuple[str, ...] = ()


def lang_spans(text: str, options: Mapping[str, Any]) -> tuple[str, list[str]]:
    """`sanitize_lang_spans` with plain options."""
    return sanitize_lang_spans(text, convert(thaw(dict(options)), LangSpans))


SANITIZERS: Final[Mapping[str, Sanitizer]] = {"lang_spans": lang_spans}
"""The built-in sanitizers by name."""


def transform_tags(text: str, config: OutputTagsConfig, sanitizers: Mapping[str, Sanitizer] = SANITIZERS) -> TagResult:
    """``text`` with the sanitizers that are enabled, then the rules, applied in order. Linear in the text for each.

    Unknown and failing sanitizers are warnings. Warnings are in the result, and go to the config's ``warner`` or the log.
    """
    if not config.enabled or not (config.rules or config.sanitizers):
        return TagResult(text)
    hatch = {Zone.ESCAPE} if config.escape_hatch.enabled else set()
    masked = mask(text, CODE_ZONES | hatch, Escape(config.escape_hatch.mode))
    changed, warnings = _sanitized(masked.text, config, sanitizers)
    for rule in config.rules:
        changed = apply_rule(changed, rule)
    _report(warnings, config)
    return TagResult(unmask(changed, masked.spans), tuple(warnings))


def _sanitized(text: str, config: OutputTagsConfig, known: Mapping[str, Sanitizer]) -> tuple[str, list[str]]:
    warnings: list[str] = []
    for name, options in config.sanitizers.items():
        if not options.get("enabled"):
            continue
        if name not in known:
            warnings.append(f"no sanitizer is called {name!r}")
            continue
        try:
            text, problems = known[name](text, options)
        except Exception as error:  # noqa: BLE001 - a guest's sanitizer may raise anything; the answer stays as it was
            problems = [f"the sanitizer {name!r} failed ({type(error).__name__}: {error})"]
        warnings += problems
    return text, warnings


def _report(warnings: list[str], config: OutputTagsConfig) -> None:
    tell = config.warner or (_LOG.warning if config.warn else None)
    if tell is not None:
        for warning in warnings:
            tell(warning)


_SECTION: Final = "output_tags"


class EscapeHatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    r"""Whether ``\<`` keeps a tag from being one, and what it becomes: ``&lt;``, ``<`` or itself."""

    enabled: bool = False
    mode: Literal["html_entity", "literal", "keep_backslash"] = "html_entity"


class OutputTagsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``rules`` in the order they apply; ``sanitizers`` by name with their options, applied before the rules.

    ``warner`` is called with each warning; without one ``warn`` sends them to the log.
    """

    enabled: bool = False
    escape_hatch: EscapeHatch = EscapeHatch(enabled=True)
    rules: tuple[TagRule, ...] = ()
    sanitizers: FrozenDict = EMPTY
    warn: bool = False
    warner: Callable[[str], Any] | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any] | None = None) -> OutputTagsConfig:
        """A config from plain values; ``None`` is the default, which does nothing. Raises `ConfigError`."""
        if isinstance(values, cls):
            return values
        fields = dict(section_of(values, _SECTION))
        warner = fields.pop("warner", None)
        config = read_config(cls, fields, _SECTION)
        _check(config, warner)
        return msgspec.structs.replace(config, warner=warner)


def _check(config: OutputTagsConfig, warner: Any) -> None:
    if warner is not None and not callable(warner):
        refuse_config(_SECTION, "warner must be callable")
    for rule in config.rules:
        if not rule.tag.strip() or (rule.action == "rename" and not (rule.to or "").strip()):
            refuse_config(_SECTION, f"a rule needs a tag, and to rename it also `to`: {rule.tag!r} {rule.action}")
    if not all(isinstance(options, Mapping) for options in config.sanitizers.values()):
        refuse_config(_SECTION, "sanitizers map names to mappings of options")


class TagRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens to ``<tag …>…</tag>``, written in any case.

    ``strip`` keeps what is inside, ``drop`` does not, ``rename`` makes it ``<to …>`` with attribute names mapped through
    ``attrs``.
    """

    tag: str
    action: Literal["strip", "drop", "rename"]
    to: str | None = None
    attrs: FrozenDict = EMPTY


def apply_rule(text: str, rule: TagRule) -> str:
    """``text`` after one rule. Linear in the text."""
    pieces = scan(text, {rule.tag.lower()})
    if rule.action == "strip":
        return "".join(piece for piece in pieces if isinstance(piece, str))
    return "".join(_outside(pieces) if rule.action == "drop" else _renamed(pieces, rule.to or rule.tag, rule.attrs))


def _outside(pieces: Iterable[str | Tag]) -> Iterable[str]:
    """The text outside all spans; a span that is not closed reaches to the end, a stray closer is nothing."""
    depth = 0
    for piece in pieces:
        if isinstance(piece, str):
            if not depth:
                yield piece
        elif piece.closing:
            depth = max(depth - 1, 0)
        elif not piece.empty:
            depth += 1


def _renamed(pieces: Iterable[str | Tag], to: str, names: Mapping[str, str]) -> Iterable[str]:
    """Tags under their new name; stray closers go, missing ones come at the end."""
    open_tags = 0
    lower = {name.lower(): new for name, new in names.items()}
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        elif not piece.closing:
            open_tags += not piece.empty
            yield _opener(piece, to, lower)
        elif open_tags:
            open_tags -= 1
            yield f"</{to}>"
    yield f"</{to}>" * open_tags


def _opener(tag: Tag, to: str, names: Mapping[str, str]) -> str:
    pairs = [(names.get(name.lower(), name), value) for name, value in attributes(tag)]
    return f"<{to}{write_attributes(pairs)}{'/' if tag.empty else ''}>"


_TAG: Final = re.compile(r"<\s*+(?P<close>/?)\s*+(?P<name>[^\W\d_][\w:.-]*+)(?P<rest>[^<>]*+)>")
_ATTRIBUTE: Final = re.compile(r"""([^\s=/"']++)(?:(\s*+=\s*+)("[^"]*+"|'[^']*+'|[^\s"']++))?+""")


class Tag(msgspec.Struct, frozen=True):
    """One tag as it stands in the text."""

    text: str
    name: str
    closing: bool = False
    rest: str = ""

    @property
    def key(self) -> str:
        """The name in lower case: names are compared without regard to case."""
        return self.name.lower()

    @property
    def empty(self) -> bool:
        """Whether it closes itself: ``<br/>``."""
        return not self.closing and self.rest.rstrip().endswith("/")


def scan(text: str, names: Collection[str]) -> Iterator[str | Tag]:
    """The text as runs of plain text and tags called one of ``names`` (lower case). Joined, they are the text."""
    start = 0
    for match in _TAG.finditer(text):
        if match["name"].lower() not in names:
            continue
        if match.start() > start:
            yield text[start : match.start()]
        start = match.end()
        yield Tag(match[0], match["name"], bool(match["close"]), match["rest"])
    if start < len(text):
        yield text[start:]


def attributes(tag: Tag) -> list[tuple[str, str | None]]:
    """The attributes of a tag in order; values as they are written, quotes included, ``None`` for a bare name."""
    rest = tag.rest.rstrip().removesuffix("/") if tag.empty else tag.rest
    return [(match[1], match[3]) for match in _ATTRIBUTE.finditer(rest)]


def write_attributes(pairs: list[tuple[str, str | None]]) -> str:
    """Attributes with one space before each."""
    return "".join(f" {name}" if value is None else f" {name}={value}" for name, value in pairs)


_NAMES: Final = frozenset({"lang"})
_SUBTAG: Final = re.compile(r"[A-Za-z0-9]{1,8}")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}|[A-Za-z]{5,8}|x")


class LangSpans(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How strict to be.

    ``validate_code`` judges the code; ``on_invalid_code`` says what becomes of a span without a valid one: its tags go, it is
    kept as it is, or it goes whole. ``auto_close`` closes what is open at the end.
    """

    enabled: bool = False
    validate_code: bool = True
    auto_close: bool = True
    on_invalid_code: Literal["strip", "keep", "drop"] = "strip"


def language_code(text: str) -> str | None:
    """A language tag in BCP 47's casing (``ja_jp`` → ``ja-JP``, ``zh-hans`` → ``zh-Hans``), or ``None`` for anything else."""
    first, *others = text.strip().replace("_", "-").split("-")
    if not _LANGUAGE.fullmatch(first) or not all(_SUBTAG.fullmatch(part) for part in others):
        return None
    if first == "x" and not others:
        return None
    return "-".join([first.lower(), *(_cased(part) for part in others)])


def _cased(part: str) -> str:
    if len(part) == len("Hans") and part.isalpha():
        return part.title()
    region = (len(part) == len("JP") and part.isalpha()) or (len(part) == len("419") and part.isdigit())
    return part.upper() if region else part.lower()


def sanitize_lang_spans(text: str, options: LangSpans) -> tuple[str, list[str]]:
    """``(text, warnings)``: spacing and codes made regular, stray closers gone, open spans closed. Linear in the text."""
    spans = _Spans(options)
    for piece in scan(text, _NAMES):
        if isinstance(piece, str):
            spans.put(piece)
        else:
            spans.take(piece)
    return spans.end()


class _Spans:
    """The open spans, innermost last: what their closing tag is to be, or ``None`` inside a dropped one."""

    def __init__(self, options: LangSpans) -> None:
        self.options = options
        self.out: list[str] = []
        self.open: list[str | None] = []
        self.dropped = 0
        self.warnings: list[str] = []

    def put(self, text: str) -> None:
        if not self.dropped:
            self.out.append(text)

    def take(self, tag: Tag) -> None:
        if not tag.closing:
            self.start(tag)
        elif not self.open:
            self.warnings.append("a closing lang tag without an opening one was removed")
        else:
            self.leave()

    def start(self, tag: Tag) -> None:
        code = self.code(tag)
        if code is not None:
            self.enter(_span_opener(tag, code), "</lang>", tag)
            return
        self.warnings.append(f"a lang tag without a valid code: {tag.text[:40]}")
        if self.options.on_invalid_code == "keep":
            self.enter(tag.text, "</lang>", tag)
        else:
            self.enter("", None if self.options.on_invalid_code == "drop" else "", tag)

    def code(self, tag: Tag) -> str | None:
        written = next((value for name, value in attributes(tag) if name.lower() == "code"), None)
        text = (written or "").strip("\"'").strip()
        return language_code(text) or (None if self.options.validate_code or not text else text)

    def enter(self, opener: str, closer: str | None, tag: Tag) -> None:
        self.put(opener)
        if tag.empty:
            return
        self.open.append(closer)
        self.dropped += closer is None

    def leave(self) -> None:
        closer = self.open.pop()
        if closer is None:
            self.dropped -= 1
        else:
            self.put(closer)

    def end(self) -> tuple[str, list[str]]:
        unclosed = sum(closer != "" for closer in self.open)
        if unclosed and not self.options.auto_close:
            self.warnings.append(f"{unclosed} lang tags are not closed")
        while self.open and self.options.auto_close:
            self.leave()
        return "".join(self.out), self.warnings


def _span_opener(tag: Tag, code: str) -> str:
    pairs = [(name, value) for name, value in attributes(tag) if name.lower() != "code"]
    quoted = code.replace('"', "&quot;")
    return f"<lang{write_attributes([('code', f'{chr(34)}{quoted}{chr(34)}'), *pairs])}{'/' if tag.empty else ''}>"
