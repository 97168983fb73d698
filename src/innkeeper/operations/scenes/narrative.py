"""Narrative: a model's description of a moment, with its tags removed and its faults named and repaired once.

A narrative is two or three sentences of what can be seen. If it has faults, its model gets one chance to repair them; what then
remains is cut, never reworded. An apostrophe is not a quotation mark, and the scene's template sets the number of words
(dynamic-prompting reference 3.7 steps 7 and 8, 9 item 10).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from innkeeper.library.prepare.budget import cut_text

_LEAST: Final = 20
"""Characters of a narrative at least."""

_LONGEST_NAME: Final = 80
_LONGEST_DESCRIPTION: Final = 300


class SceneTags(msgspec.Struct, frozen=True):
    """A text without its tags, and their values: ``[SCENE_NAME: …]`` and ``[SCENE_DESC: …]``."""

    text: str
    name: str = ""
    description: str = ""


class Narrative(msgspec.Struct, frozen=True):
    """A narrative and its faults: ``dialogue``, ``first_person``, ``too_long``, ``too_short``."""

    tags: SceneTags
    faults: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text without its tags."""
        return self.tags.text


_TAG: Final = re.compile(r"\[[ \t]*SCENE_(?P<kind>NAME|DESC)[ \t]*:(?P<text>[^\[\]\n]*)\]?", re.IGNORECASE)
_MARKUP: Final = re.compile(r"(?<!\w)[*_`#]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)")
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」")
_FIRST: Final = re.compile(r"(?<![\w'’])(?:I|I['’](?:m|ve|d|ll)|me|my|mine|myself)(?![\w'’-])")
_SENTENCES: Final = re.compile(r"[^.!?…]+(?:[.!?…]+[\"”'’)]*|$)\s*")


def taken_tags(text: str) -> SceneTags:
    """Remove the tags from a text; of several of one kind the first counts."""
    faults: dict[str, str] = {}
    for tag in _TAG.finditer(text):
        faults.setdefault(tag["kind"].upper(), " ".join(tag["text"].split()))
    plain = " ".join(_TAG.sub(" ", text).split())
    return SceneTags(plain, faults.get("NAME", "")[:_LONGEST_NAME], faults.get("DESC", "")[:_LONGEST_DESCRIPTION])


def read_narrative(text: str, max_words: int) -> Narrative:
    """Read a model's narrative: strip its markup and name its faults."""
    tags = taken_tags(text)
    plain = msgspec.structs.replace(tags, text=_MARKUP.sub("", tags.text).strip())
    outside = _QUOTED.sub(" ", plain.text)
    faults = {
        "dialogue": outside != plain.text,
        "first_person": _FIRST.search(outside) is not None,
        "too_long": len(plain.text.split()) > max_words,
        "too_short": len(plain.text) < _LEAST,
    }
    return Narrative(plain, tuple(name for name, is_one in faults.items() if is_one))


_FAULT_SENTENCES: Final = {
    "dialogue": "it quotes what is said: leave out all speech",
    "first_person": "it is told in the first person: tell it in the third",
    "too_long": "it is longer than {max_words} words",
    "too_short": "it says too little to be pictured",
}


def repair_text(narrative: Narrative, max_words: int) -> str:
    """Return the message that asks the model to repair its faults."""
    sentences = "; ".join(_FAULT_SENTENCES[fault].format(max_words=max_words) for fault in narrative.faults)
    return f"That does not serve yet: {sentences}. Write the description again, and nothing else."


def mended(narrative: Narrative, max_words: int) -> Narrative:
    """Cut the faults out of a narrative: speech, sentences in the first person, words beyond the limit.

    Faults remain where cutting does not help. No word is changed.
    """
    text = _QUOTED.sub(" ", narrative.text) if "dialogue" in narrative.faults else narrative.text
    if "first_person" in narrative.faults:
        text = "".join(sentence for sentence in _SENTENCES.findall(text) if not _FIRST.search(sentence))
    text = " ".join(text.split())
    text = cut_text(text, lambda part: len(part.split()) <= max_words)
    cut = msgspec.structs.replace(narrative.tags, text=text)
    return Narrative(cut, read_narrative(text, max_words).faults)
