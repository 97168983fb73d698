"""Post-processing: what becomes of a model's answer before it is kept: steps of one template, in its order, each a pure function.

A template names its steps in its metadata (``"post_processing": ["labels", "emoji", {"step": "words", "most": 150}]``); where it
names none, only `labels` runs. A step has a version, which may be asked for (``labels@1``), finds edits, and reports each as a
difference; what it would leave nothing of stays as it was. Refusals are not processed at all, by whoever runs this: no step
takes anything away because of what it says (dynamic-prompting reference S3, 3.6).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.library.errors import FieldError, with_near
from innkeeper.prompt.errors import Where

KEY: Final = "post_processing"
"""The key of a template's metadata that lists its steps."""


class Cast(NamedTuple):
    """Who speaks: the names of the character and of the user; empty where there is none."""

    character: str = ""
    user: str = ""


class TextEdit(NamedTuple):
    """What stands from ``start`` to ``end`` becomes ``text``."""

    start: int
    end: int
    text: str = ""


Finder = Callable[[str, Cast, int], Iterable[TextEdit]]
"""The edits of a text, in its order, none over another; the number is the step's ``most``."""


class ProcessingStep(NamedTuple):
    """A step: its version, what it finds, and how many of something it leaves where nothing else is said."""

    version: int
    find: Finder
    most: int = 0


class TextDifference(msgspec.Struct, frozen=True):
    """One change of a step: where in the text that it got, what stood there, what stands there now."""

    start: int
    was: str
    now: str


class StepReport(msgspec.Struct, frozen=True):
    """What a step did. ``kept``: it would have left nothing, so that the text stayed as it was."""

    step: str
    version: int
    differences: tuple[TextDifference, ...] = ()
    kept: bool = False

    @property
    def changed(self) -> bool:
        """Whether the step changed anything."""
        return bool(self.differences) and not self.kept


class Processed(msgspec.Struct, frozen=True):
    """A text after all steps, as it was before, and what each did."""

    text: str
    original: str
    steps: tuple[StepReport, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the text is another now."""
        return self.text != self.original


class PostProcessing(msgspec.Struct, frozen=True):
    """Steps in their order: each by its name, with how many of something it leaves."""

    steps: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> PostProcessing:
        """The steps that a template's metadata names. Raises `FieldError` for what is no step, or another version of one."""
        listed = metadata.get(KEY, ["labels"])
        if not isinstance(listed, (list, tuple)):
            raise FieldError("post_processing lists steps", where=_WHERE)
        return cls(tuple([_read(each) for each in listed]))

    def run(self, text: str, cast: Cast = Cast()) -> Processed:  # noqa: B008 - it is a tuple
        """The text after all steps.

        >>> PostProcessing.of({}).run("Mira: Come in.", Cast("Mira")).text
        'Come in.'
        """
        reports, now = [], text
        for name, most in self.steps:
            step = STEPS[name]
            edits = list(step.find(now, cast, most))
            after = _edited(now, edits)
            unchanged = not after.strip() and bool(now.strip())
            differences = tuple([TextDifference(edit.start, now[edit.start : edit.end], edit.text) for edit in edits])
            reports.append(StepReport(name, step.version, differences, unchanged))
            now = now if unchanged else after
        return Processed(now, text, tuple(reports))


_WHERE: Final = Where(asset="template", path=f"metadata.{KEY}")


def _read(value: Any) -> tuple[str, int]:
    fields = value if isinstance(value, Mapping) else {"step": value}
    named, most = fields.get("step"), fields.get("most")
    if not isinstance(named, str) or fields.keys() - {"step", "most"}:
        raise FieldError("a step is a name, or an object with step and most", where=_WHERE)
    name, _, version = named.partition("@")
    step = STEPS.get(name)
    if step is None:
        hint = f"steps: {', '.join(STEPS)}"
        raise with_near(FieldError(f"{name!r:.40} is no step", where=_WHERE, hint=hint), name, STEPS)
    if version and version != str(step.version):
        raise FieldError(f"{name} is at version {step.version}, not {version!r:.20}", where=_WHERE)
    if most is not None and (type(most) is not int or most < 1 or not step.most):
        raise FieldError(f"most of {name!r} is a number above 0, for: {', '.join(_COUNTING)}", where=_WHERE)
    return name, most or step.most


def _edited(text: str, edits: Iterable[TextEdit]) -> str:
    parts, at = [], 0
    for edit in edits:
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])


# --------------------------------------------------------------------------------------------------------------------- steps

_LINE: Final = re.compile(r"[^\n]+")
_BOLD: Final = r"(?:\*{1,2}|_{1,2})?"
_META: Final = re.compile(rf"[ \t]*{_BOLD}(?:AI|Assistant|System){_BOLD}[ \t]*:{_BOLD}[ \t]*", re.IGNORECASE)
_ASIDE: Final = re.compile(r"[ \t]*\(me[ \t]++([^()\n]{1,500})\)[ \t]*", re.IGNORECASE)
_NARRATOR: Final = re.compile(rf"[ \t]*(?:\[narrator\]:?|{_BOLD}narrator{_BOLD}[ \t]*:{_BOLD})[ \t]*", re.IGNORECASE)
_NARRATED: Final = "**Narrator:** "
_LABEL: Final = re.compile(r"[ \t]*\*\*[^*\n:]{1,80}:\*\*")
_EMOJI: Final = re.compile(
    "[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b50\u2b55\u23e9-\u23fa]"
    "[\ufe0f\U0001f3fb-\U0001f3ff]?(?:\u200d[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?)*[ ]?"
)
_BLANKS: Final = re.compile(r"(?<![ \t])[ \t]++(?=\n)|\n(?=\n\n)")
_WORD: Final = re.compile(r"\S+")
_SENTENCE: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)*\]]*+(?=\s|$)")
_ACTION: Final = re.compile(r"(?<!\*)\*(?!\*)[^*\n]+\*(?!\*)[ \t]*")
_BLOCK: Final = re.compile(r"(?:^|\n[ \t]*\n)\s*(?=\S)")


def _labels(text: str, cast: Cast, _most: int) -> Iterator[TextEdit]:
    """The label of whoever speaks, in front of the whole answer: the character's name, or what programs call themselves."""
    start = len(text) - len(text.lstrip())
    match = _META.match(text, start)
    if match is None and cast.character.strip():
        name = re.escape(cast.character.strip())
        match = re.compile(rf"{_BOLD}{name}{_BOLD}[ \t]*:{_BOLD}[ \t]*", re.IGNORECASE).match(text, start)
    if match is not None:
        yield TextEdit(0, match.end())


def _meta_labels(text: str, _cast: Cast, _most: int) -> Iterator[TextEdit]:
    """The labels of programs in front of lines."""
    for line in _LINE.finditer(text):
        if match := _META.match(text, line.start(), line.end()):
            yield TextEdit(match.start(), match.end())


def _user_lines(text: str, cast: Cast, _most: int) -> Iterator[TextEdit]:
    """Lines in which the model speaks for the user."""
    names = ["You", "User", *([cast.user.strip()] if cast.user.strip() else [])]
    pattern = re.compile(rf"[ \t]*{_BOLD}(?:{'|'.join(map(re.escape, names))}){_BOLD}[ \t]*:", re.IGNORECASE)
    for line in _LINE.finditer(text):
        if pattern.match(text, line.start(), line.end()):
            yield TextEdit(line.start(), min(line.end() + 1, len(text)))


def _asides(text: str, _cast: Cast, _most: int) -> Iterator[TextEdit]:
    """``(me waves)`` in front of a line becomes the narrator's."""
    for line in _LINE.finditer(text):
        if match := _ASIDE.match(text, line.start(), line.end()):
            rest = "\n" if match.end() < line.end() else ""
            yield TextEdit(match.start(), match.end(), f"{_NARRATED}{match[1].strip()}{rest}")


def _narrator(text: str, _cast: Cast, _most: int) -> Iterator[TextEdit]:
    """The narrator's label, in whatever form, becomes one form."""
    for line in _LINE.finditer(text):
        match = _NARRATOR.match(text, line.start(), line.end())
        if match is not None and match[0] != _NARRATED:
            yield TextEdit(match.start(), match.end(), _NARRATED)


def _speaker(text: str, cast: Cast, most: int) -> Iterator[TextEdit]:
    """The first blocks, as many as ``most``, get the speaker's label where they have none."""
    for number, match in enumerate(_BLOCK.finditer(text, 0, len(text.rstrip()))):
        if number >= most or not cast.character.strip():
            return
        if not _LABEL.match(text, match.end()):
            yield TextEdit(match.end(), match.end(), f"**{cast.character.strip()}:** ")


def _without(pattern: re.Pattern[str]) -> Finder:
    """What matches goes, all but the first ones, as many as ``most``."""
    return lambda text, _cast, most: (
        TextEdit(match.start(), match.end()) for match in islice(pattern.finditer(text), most, None)
    )


def _words(text: str, _cast: Cast, most: int) -> Iterator[TextEdit]:
    """What is beyond so many words goes, back to the end of a sentence where that keeps half of them."""
    end = next((match.end() for number, match in enumerate(_WORD.finditer(text), 1) if number == most), len(text))
    if text[end:].strip():
        ends = [match.end() for match in _SENTENCE.finditer(text, 0, end) if match.end() >= end // 2]
        yield TextEdit(ends[-1] if ends else end, len(text))


STEPS: Final[Mapping[str, ProcessingStep]] = {
    "labels": ProcessingStep(1, _labels),
    "meta_labels": ProcessingStep(1, _meta_labels),
    "user_lines": ProcessingStep(1, _user_lines),
    "asides": ProcessingStep(1, _asides),
    "narrator": ProcessingStep(1, _narrator),
    "speaker": ProcessingStep(1, _speaker, 1),
    "emoji": ProcessingStep(1, _without(_EMOJI)),
    "blank_lines": ProcessingStep(1, _without(_BLANKS)),
    "words": ProcessingStep(1, _words, 150),
    "actions": ProcessingStep(1, _without(_ACTION), 4),
}
"""The steps that there are, by name."""

_COUNTING: Final = [name for name, step in STEPS.items() if step.most]
