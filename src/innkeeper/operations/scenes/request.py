"""SceneRequest: a request for a scene, with the document's names.

The previous scene's picture, the mode, the tier and the owner come from stored records, never from the request. Texts and lists
are bounded, so that no request costs more than another (dynamic-prompting reference 3.7, S4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.gate.limits import ADULT_AGE
from innkeeper.library.errors import FieldError, is_storable, need_texts
from innkeeper.library.rows import CharacterRow
from innkeeper.operations.scenes.composition import SceneStyle
from innkeeper.operations.scenes.limits import MAX_SCENE_CHARS, MAX_SCENE_ITEMS
from innkeeper.operations.scenes.modes import Consistency
from innkeeper.prompt.data import EMPTY, check_depth, to_json
from innkeeper.prompt.errors import LimitError, UsageError, Where
from innkeeper.prompt.typed.once import convert


class InlinePerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person described in the request, without a row; always of the general tier."""

    name: str
    description: str = ""
    gender: str | None = None
    mood: str | None = None
    appearance_tags: tuple[str, ...] = ()
    clothing_tags: tuple[str, ...] = ()
    declared_age: int | None = None
    reference_image_url: str | None = None
    seed_locked: int | None = None


class SceneRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a scene.

    ``message`` is the text of the moment, if no conversation has it; ``scene_context`` is a description as a template has it.
    ``current_scene_id`` (or ``current_scene_image_url``, if that is one of the caller's own scenes or results) is the scene
    whose picture ``scene_prompt_override`` changes. ``scene_style`` defaults to the template's, else ``character_only``.
    ``strict``: a degraded scene is an error.
    """

    conversation_id: str | None = None
    character_id: str | None = None
    user_character_id: str | None = None
    character: InlinePerson | None = None
    user_character: InlinePerson | None = None
    message: str = ""
    scene_style: SceneStyle | None = None
    scene_template_id: str | None = None
    scene_name: str = ""
    scene_description: str = ""
    scene_context: str = ""
    scene_preview_image_url: str | None = None
    scene_default_clothing: str = ""
    scene_clothing_overrides: Mapping[str, str] = EMPTY
    scene_prompt_override: str = ""
    scene_continuity_enabled: bool = True
    previous_scene_id: str | None = None
    previous_scene_image_url: str | None = None
    current_scene_id: str | None = None
    current_scene_image_url: str | None = None
    consistency_settings: Consistency | None = None
    selected_image_model: str | None = None
    selected_i2i_model: str | None = None
    enhancer_model: str | None = None
    negative_prompt: str = ""
    width: int | None = None
    height: int | None = None
    aspect_ratio: str | None = None
    content_tier: Any = None
    strict: bool = False

    def texts(self) -> dict[str, str]:
        """Return every text that the client wrote, by field; addresses are not texts."""
        texts = {name: value for name in _TEXTS if (value := getattr(self, name))}
        for who, worn in self.scene_clothing_overrides.items():
            texts[f"scene_clothing_overrides.{who[:40]}"] = f"{who}: {worn}"
        for name in ("character", "user_character"):
            person: InlinePerson | None = getattr(self, name)
            if person is not None:
                texts[name] = "\n".join(person_texts(person))
        return texts

    @property
    def sha256(self) -> str:
        """The hash that identifies equal requests."""
        return hashlib.sha256(to_json(msgspec.to_builtins(self))).hexdigest()


_TEXTS: Final = (
    *("message", "scene_name", "scene_description", "scene_context", "scene_default_clothing"),
    *("scene_prompt_override", "negative_prompt"),
)
_IDS: Final = (
    *("conversation_id", "character_id", "user_character_id", "scene_template_id", "previous_scene_id"),
    *("current_scene_id", "selected_image_model", "selected_i2i_model", "enhancer_model", "aspect_ratio"),
)
_PICTURES: Final = ("scene_preview_image_url", "previous_scene_image_url", "current_scene_image_url")
_LONGEST_ID: Final = 300
_LONGEST_SIDE: Final = 16_384
_OLDEST: Final = 99_999


def person_texts(person: InlinePerson | CharacterRow) -> list[str]:
    """Return the texts of a person, with the age in words if it is below adulthood."""
    texts = (person.name, person.description, person.gender, person.mood)
    listed = [*(text for text in texts if text), *person.appearance_tags, *person.clothing_tags]
    age = person.declared_age
    return [*listed, *([f"{age} years old"] if age is not None and age < ADULT_AGE else [])]


def scene_request(body: Mapping[str, Any]) -> SceneRequest:
    """Read the request from a body; unknown names are ignored, as in the document's functions.

    Raises `UsageError`, `FieldError`, `LimitError`.
    """
    known = {name: body[name] for name in SceneRequest.__struct_fields__ if body.get(name) is not None}
    check_depth(known)
    try:
        request = convert(known, SceneRequest)
    except msgspec.ValidationError as error:
        raise UsageError(f"the request does not fit: {error}") from error
    return checked_request(request)


def checked_request(request: SceneRequest) -> SceneRequest:
    """The request alone, once its texts and lists are within their limits. Raises `FieldError`, `LimitError`."""
    _check(request)
    fields = {name: getattr(request, name) for name in SceneRequest.__struct_fields__}
    check_depth(fields["content_tier"])
    return SceneRequest(**fields)


def _check(request: SceneRequest) -> None:
    for name in _TEXTS:
        _check_texts(name, getattr(request, name))
    for name in _IDS:
        _check_texts(name, getattr(request, name) or "", longest=_LONGEST_ID)
    need_texts(request, (), _PICTURES)
    clothes = request.scene_clothing_overrides
    _check_count("scene_clothing_overrides", len(clothes))
    _check_texts("scene_clothing_overrides", *clothes, *clothes.values())
    for name in ("character", "user_character"):
        person: InlinePerson | None = getattr(request, name)
        if person is not None:
            _check_person(name, person)
    for name in ("width", "height"):
        sentence = f"{name} is between 1 and {_LONGEST_SIDE:,} pixels"
        _check_number(name, getattr(request, name), 1, _LONGEST_SIDE, sentence)


def _check_person(path: str, person: InlinePerson) -> None:
    for tags in (person.appearance_tags, person.clothing_tags):
        _check_count(path, len(tags))
        _check_texts(path, *tags)
    texts = (person.name, person.description, person.gender, person.mood, person.reference_image_url)
    _check_texts(path, *(text or "" for text in texts))
    _check_texts(f"{path}.name", person.name, longest=_LONGEST_ID)
    if not person.name.strip():
        raise FieldError("a person has a name", where=Where(path=f"{path}.name"))
    _check_number(f"{path}.declared_age", person.declared_age, 0, _OLDEST, "an age is a number of years")
    _check_number(f"{path}.seed_locked", person.seed_locked, 0, 2**63 - 1, "a seed is 0 or more")


def _check_texts(path: str, *texts: str, longest: int = MAX_SCENE_CHARS) -> None:
    for text in texts:
        if not is_storable(text):
            raise FieldError(f"{path} holds a character that cannot be stored", where=Where(path=path))
        if len(text) > longest:
            raise LimitError(f"characters of {path}", limit="MAX_SCENE_CHARS", allowed=longest, found=len(text))


def _check_count(path: str, count: int) -> None:
    if count > MAX_SCENE_ITEMS:
        raise LimitError(f"items of {path}", limit="MAX_SCENE_ITEMS", allowed=MAX_SCENE_ITEMS, found=count)


def _check_number(path: str, number: int | None, least: int, most: int, sentence: str) -> None:
    if number is not None and not least <= number <= most:
        raise FieldError(sentence, where=Where(path=path))
