"""Instruct: how a text-completion model was trained to tell roles apart, as text before and after each message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import ConfigError, UnknownNameError

__all__ = ["INSTRUCTS", "Instruct"]


class Instruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Each role's ``(prefix, suffix)``. ``{{name}}`` in them becomes the speaker's name.

    ``start`` comes once at the very beginning. ``reply`` opens the answer (the assistant's prefix where it is ``None``).
    ``first_assistant`` and ``last_user`` replace the prefix of the first answer and of the last user message. A role
    without a pair of its own takes the user's. ``stop`` are stop strings that belong to the format.
    """

    user: tuple[str, str]
    assistant: tuple[str, str]
    system: tuple[str, str] | None = None
    tool: tuple[str, str] | None = None
    start: str = ""
    reply: str | None = None
    first_assistant: str | None = None
    last_user: str | None = None
    stop: tuple[str, ...] = ()
    user_name: str = "User"
    assistant_name: str = "Assistant"

    @classmethod
    def of(cls, value: Any) -> Instruct:
        """A format from itself, its name in `INSTRUCTS`, or a mapping. Raises `UnknownNameError`, `ConfigError`."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            if value not in INSTRUCTS:
                what = "instruct format"
                raise UnknownNameError(what, value, INSTRUCTS)
            return INSTRUCTS[value]
        try:
            return msgspec.convert(dict(value), cls)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise ConfigError(
                f"not an instruct format: {error}", hint="give user and assistant, a pair each"
            ) from error

    def affixes(self, role: str, name: str | None) -> tuple[str, str]:
        """What stands before and after a message."""
        pair = {"assistant": self.assistant, "system": self.system, "tool": self.tool}.get(role) or self.user
        return self.filled(pair[0], role, name), self.filled(pair[1], role, name)

    def filled(self, text: str, role: str, name: str | None) -> str:
        """``text`` with the speaker's name in it."""
        if "{{name}}" not in text:
            return text
        known = name or (self.assistant_name if role == "assistant" else self.user_name)
        return text.replace("{{name}}", known)


INSTRUCTS: Final[Mapping[str, Instruct]] = {
    "chatml": Instruct(
        system=("<|im_start|>system\n", "<|im_end|>\n"),
        user=("<|im_start|>user\n", "<|im_end|>\n"),
        assistant=("<|im_start|>assistant\n", "<|im_end|>\n"),
        tool=("<|im_start|>tool\n", "<|im_end|>\n"),
        stop=("<|im_end|>",),
    ),
    "llama-3": Instruct(
        start="<|begin_of_text|>",
        system=("<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"),
        user=("<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"),
        assistant=("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
        stop=("<|eot_id|>",),
    ),
    "gemma": Instruct(
        start="<bos>",
        user=("<start_of_turn>user\n", "<end_of_turn>\n"),
        assistant=("<start_of_turn>model\n", "<end_of_turn>\n"),
        stop=("<end_of_turn>",),
    ),
    "mistral": Instruct(start="<s>", user=("[INST] ", " [/INST]"), assistant=(" ", "</s>"), reply="", stop=("</s>",)),
    "alpaca": Instruct(
        system=("", "\n\n"),
        user=("### Instruction:\n", "\n\n"),
        assistant=("### Response:\n", "\n\n"),
        stop=("### Instruction:",),
    ),
    "vicuna": Instruct(
        system=("", "\n\n"),
        user=("USER: ", "\n"),
        assistant=("ASSISTANT: ", "</s>\n"),
        reply="ASSISTANT:",
        stop=("</s>",),
    ),
    "names": Instruct(
        system=("", "\n"),
        user=("{{name}}: ", "\n"),
        assistant=("{{name}}: ", "\n"),
        reply="{{name}}:",
        stop=("\n{{name}}:",),
    ),
}
"""Formats by name. The marks are those the models' makers published."""
