"""What media cost is the provider's own rule, by model and dialect; what cannot be read is the most it may be, and says so."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Attachment
from innkeeper.tokens.media import GUESSED_PAGES, GUESSED_SECONDS, RULES, kind_of, media_cost, media_rule, page_count
from tests.properties.test_bodies_fit import picture
from tests.tokens.test_dimensions import wav


def png(width: int, height: int, **more: Any) -> Attachment:
    """A picture of this size."""
    return Attachment.of({**picture(width, height), **more})


def data(kind: str, content: bytes, media_type: str) -> Attachment:
    """An attachment with these bytes."""
    return Attachment(kind, data=base64.b64encode(content).decode(), media_type=media_type)


PDF = b"%PDF-1.4\n" + b"".join(b"%d 0 obj <</Type /Page>> endobj\n" % number for number in range(3)) + b"/Type /Pages"
PACKED = (
    b"%PDF-1.5\n1 0 obj <</Type/ObjStm/N 2>>stream\n" + zlib.compress(b"<</Type/Page>><</Type/Page>>") + b"endstream"
)


@dataclass(frozen=True)
class Case:
    """An attachment, who reads it, and what it costs."""

    name: str
    item: Attachment
    tokens: int
    model: str | None = None
    dialect: str | None = None
    guess: str = ""
    counted: list[str] = field(default_factory=list)


CASES = (
    Case("openai: 85 and 170 a tile, shorter side 768", png(1024, 1024), 765, "gpt-4o"),
    Case("openai: a small picture is one tile", png(100, 100), 255, "gpt-4o"),
    Case("openai: a long picture", png(2048, 4096), 1105, "gpt-4o"),
    Case("openai: low detail", Attachment("image", url="https://x.test/a.png", detail="low"), 85, "gpt-4o"),
    Case("a name with its provider before it", png(1024, 1024), 765, "openai/gpt-4o"),
    Case("gpt-4o-mini: 2,833 and 5,667 a tile", png(1024, 1024), 2833 + 4 * 5667, "gpt-4o-mini"),
    Case("gpt-5: 70 and 140 a tile", png(1024, 1024), 630, "gpt-5"),
    Case("o1: 75 and 150 a tile", png(1024, 1024), 675, "o1"),
    Case("claude: an area by 750", png(1000, 1000), 1334, "claude-sonnet-4-5"),
    Case("claude: a large one is scaled to 1,568 pixels", png(4000, 4000), 1600, dialect="anthropic"),
    Case("gemini: small ones", png(384, 384), 258, "gemini-2.5-flash"),
    Case("gemini: crops", png(960, 540), 6 * 258, dialect="gemini"),
    Case("gemini 3: one price", png(3000, 20), 1120, "gemini-3-pro"),
    Case("mistral: patches of 16 pixels", png(160, 160), 164, "pixtral-12b"),
    Case("grok: tiles of 448 pixels", png(448, 448), 512, "grok-4"),
    Case("the model decides before the dialect", png(1000, 1000), 1334, "claude-sonnet-4-5", "openai"),
    Case("nobody's: the dearest of the dialect", png(1024, 1024), 765),
    Case("its own figure", png(1024, 1024, tokens=5), 5, "gpt-4o"),
    Case("a picture elsewhere", Attachment("image", url="https://x.test/a.png"), 1445, "gpt-4o", guess="its size"),
    Case("a picture that is none", data("image", b"no picture", "image/png"), 1600, "claude-3", guess="its size"),
    Case("data that is no base64", Attachment("image", data="%%%"), 1445, "gpt-4o", guess="its size"),
    Case("openai: a second of sound is 10", data("audio", wav(1.2), "audio/wav"), 20, "gpt-4o-audio"),
    Case("google: a second of sound is 32", data("audio", wav(1.2), "audio/wav"), 64, "gemini-2.5-flash"),
    Case(
        "a sound elsewhere", Attachment("audio", url="https://x.test/a.wav"), 32 * GUESSED_SECONDS, "gemini-2.5-pro",
        guess="its length",
    ),
    Case(
        "a video elsewhere", Attachment("video", url="https://x.test/a.mp4"), 300 * GUESSED_SECONDS, "gemini-2.5-pro",
        guess="its length",
    ),
    Case("a damaged sound: at most its bytes at 8 kbit/s", data("audio", b"\0" * 2500, "audio/wav"), 30, "gpt-4o",
         guess="its length"),
    Case("three pages", data("file", PDF, "application/pdf"), 3 * 4600, "claude-3", guess="what is on its pages"),
    Case("packed pages", data("file", PACKED, "application/pdf"), 2 * 258, "gemini-2.5-pro", guess="what is on its pages"),
    Case("pages elsewhere", Attachment("document", url="https://x.test/a.pdf"), GUESSED_PAGES * 258, "gemini-2.5-pro",
         guess="its pages"),
    Case("pages that nobody can count", data("file", b"%PDF-" + b"x" * 9000, "application/pdf"), 2 * 258,
         "gemini-2.5-pro", guess="its pages"),
    Case("a text is counted", data("file", b"the reef", "text/plain"), 8, "gpt-4o"),
    Case("a file that nobody reads: a token for each byte", data("file", b"\0" * 70, "application/x-own"), 70,
         guess="its text"),
    Case("a picture as a file", data("file", b"x", "image/png"), 1445, "gpt-4o", guess="its size"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_media_cost(case: Case) -> None:
    """By hand from the providers' pages."""
    cost = media_cost(case.item, media_rule(case.dialect, case.model), len)
    assert cost == (case.tokens, case.guess)


def test_of_an_unknown_kind_nothing_is_known() -> None:
    """No rule has a price for it; accounting counts such attachments apart."""
    assert media_cost(Attachment("hologram", url="https://x.test/h"), media_rule(None, None), len) is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@given(width=st.integers(1, 20_000), height=st.integers(1, 20_000), detail=st.sampled_from((None, "low", "high")))
def test_no_picture_costs_more_than_the_most(rule: Any, width: int, height: int, detail: str | None) -> None:
    """So a picture that is elsewhere is never dearer than its estimate."""
    cost = media_cost(png(width, height, **({"detail": detail} if detail else {})), rule, len)
    assert cost is not None
    assert 0 < cost.tokens <= rule.most


@given(st.binary(max_size=400))
def test_no_bytes_break_off(content: bytes) -> None:
    """What cannot be read is an estimate."""
    for kind in ("image", "audio", "video", "file"):
        cost = media_cost(data(kind, content, ""), media_rule(None, None), len)
        assert cost is not None
        assert cost.tokens >= 0
    assert page_count(b"/ObjStm stream\n" + content) >= 0


def test_every_rule_says_where_it_is_from() -> None:
    """And is found by a model or a dialect, but for the last, which is for all others."""
    assert all(rule.basis and (rule.models or rule.dialects) for rule in RULES[:-1])
    assert media_rule("koboldcpp-chat", "my-model") is RULES[-1]
    assert kind_of(Attachment("input_image")) == "image"
