"""Built-in templates: pinned, general, complete; the adult tier is a frame and nothing more."""

from __future__ import annotations

import pytest

from innkeeper.gate.tier import Tier
from innkeeper.library.builtins import packaged, packaged_labels, packaged_versions, read_builtins
from innkeeper.library.errors import MissingVariablesError
from innkeeper.library.prepare.conversation import template_values
from innkeeper.library.templates.rendering import render
from innkeeper.library.templates.template import PARTIAL, TemplateKey, TemplateVersion, content_hash
from innkeeper.prompt.errors import FormatError
from tests.library.making import lookup_of

ALL = packaged_versions()
LOOKUP = lookup_of(*ALL)
DOCUMENT = [
    ("enhancement", tier, target, enhancer, job, limit)
    for target, job, limit in (("sdxl", "image", 75), ("wan", "video", 100))
    for enhancer in ("qwen_instruct", "qwen_base")
    for tier in ("sfw", "nsfw")
] + [
    ("chat", "sfw", None, "qwen_instruct", "chat", 400),
    ("chat", "nsfw", None, "qwen_instruct", "chat", 600),
    ("roleplay", "nsfw", None, "qwen_instruct", "chat", 1000),
    ("admin", "nsfw", None, "qwen_instruct", "chat", 700),
    ("character_roleplay", "sfw", None, "qwen_instruct", "chat", 300),
    ("character_roleplay", "nsfw", None, "qwen_instruct", "chat", 300),
    ("scene_generation", "nsfw", "sdxl", "qwen_instruct", "chat", 512),
    ("scene_narrative_generation", "sfw", None, "qwen_instruct", "chat", 1000),
    ("scene_narrative_generation", "nsfw", None, "qwen_instruct", "chat", 1000),
]


def test_the_documents_templates_are_there() -> None:
    """The twelve of the document and the five early additions are there, with their keys and limits."""
    known = {version.key: version.token_limit for version in ALL if version.key.use_case != PARTIAL}
    assert len(DOCUMENT) == 17
    for use_case, tier, target, enhancer, job, limit in DOCUMENT:
        assert known[TemplateKey.of(use_case, tier, target, enhancer, job)] == limit


def test_every_adult_row_has_a_general_counterpart() -> None:
    """Where the document has only an adult row there is a general one too, so that general requests are answered."""
    keys = {version.key for version in ALL}
    for key in keys:
        if key.use_case != PARTIAL:
            assert TemplateKey.of(key.use_case, "sfw", key.target_model, key.enhancer_model, key.job_type) in keys


def test_only_general_templates_are_active() -> None:
    """No adult row holds a label or is in the catalogue, and every general one is in production."""
    assert {row.version.key.content_mode for row in packaged_labels()} == {Tier.SFW}
    assert {row.version for row in packaged_labels()} == {one for one in ALL if one.key.content_mode is Tier.SFW}
    assert all(packaged().version(*version.ref) is None for version in ALL if version.key.content_mode is Tier.NSFW)


@pytest.mark.parametrize(
    "version", [one for one in ALL if one.key.content_mode is Tier.NSFW], ids=lambda version: version.name
)
def test_adult_rows_want_the_operators_policy(version: TemplateVersion) -> None:
    """A frame of the adult tier renders to nothing without the policy that the operator writes."""
    values = template_values({"name": "Mira"}, {"name": "Tomas"}, {"setting": "x"})
    with pytest.raises(MissingVariablesError, match="content_policy"):
        render(version, values, lookup=LOOKUP)
    assert "OUR RULES" in render(version, {**values, "content_policy": "OUR RULES"}, lookup=LOOKUP).text


@pytest.mark.parametrize(
    "version", [one for one in ALL if one.key.content_mode is Tier.SFW], ids=lambda version: version.name
)
def test_general_templates_render_from_a_bare_character(version: TemplateVersion) -> None:
    """Every active template renders from a character that has only a name, and leaves no tag behind."""
    rendered = render(version, template_values({"name": "Mira"}), lookup=packaged().version)
    assert rendered.text.strip()
    assert "{{" not in rendered.text


def test_names_follow_the_key() -> None:
    """A name says use case, target, enhancer and tier; hashes are those of the content; ids are derived."""
    for version in ALL:
        key = version.key
        if key.use_case != PARTIAL:
            parts = (key.use_case, key.target_model or "any", key.enhancer_model, key.content_mode.value)
            assert version.name == ".".join(str(part) for part in parts)
        assert version.content_sha256 == content_hash(version)
        assert version.template_id == f"builtin:{version.name}"


def test_a_changed_file_is_refused() -> None:
    """The packaged file is taken only with the checksum of the release."""
    with pytest.raises(FormatError, match="not those of this release"):
        read_builtins(b'{"templates":[]}')
