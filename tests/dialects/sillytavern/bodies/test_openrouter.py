"""OpenRouter: routing, thoughts, signatures."""

from __future__ import annotations

from tests.dialects.sillytavern.requests import CALL, body_of, said


def test_what_it_has_besides() -> None:
    """Defaults are sent as SillyTavern sends them; routing only where it is chosen."""
    plain = body_of(source="openrouter")
    assert (plain["transforms"], plain["plugins"], plain["reasoning"]) == (["middle-out"], [], {"exclude": False})
    assert not plain.keys() & {"provider", "route", "safety_settings"}
    routed = body_of(
        source="openrouter", model="google/gemini-x", openrouter_middleout="auto", openrouter_providers=["A"],
        openrouter_allow_fallbacks=False, openrouter_quantizations=["fp8"], openrouter_use_fallback=True,
        enable_web_search=True, reasoning_effort="max",
    )  # fmt: skip
    assert routed["provider"] == {"order": ["A"], "allow_fallbacks": False, "quantizations": ["fp8"]}
    assert (routed["route"], routed["plugins"], len(routed["safety_settings"])) == ("fallback", [{"id": "web"}], 5)
    assert routed["reasoning"] == {"exclude": False, "effort": "high"}
    assert "transforms" not in routed


def test_signatures() -> None:
    """A message's signature and those of its calls are details of reasoning, in the words of the model's maker."""
    signed = said("assistant", None, signature="s", tool_calls=[{**CALL, "signature": "t"}])
    (made,) = body_of(signed, source="openrouter", model="openai/gpt-5")["messages"]
    assert [(one["id"], one["data"], one["format"]) for one in made["reasoning_details"]] == [
        ("signature-0", "s", "openai-responses-v1"),
        ("k1", "t", "openai-responses-v1"),
    ]
    assert made["tool_calls"] == [CALL]
    quiet = {"gemini": {"thoughtSignatures": False}}
    (unsigned,) = body_of(said("assistant", "a", signature="s"), source="openrouter", server=quiet)["messages"]
    assert unsigned == said("assistant", "a")
