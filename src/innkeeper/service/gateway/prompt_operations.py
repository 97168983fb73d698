"""Operations on prompts and macros: arguments handed on to the smart tavern, with the call's clock and seed."""

from __future__ import annotations

from typing import Any

from innkeeper.service.gateway.state import Call

__all__ = [
    "apply_messages",
    "apply_text",
    "assemble",
    "assemble_full",
    "construct",
    "evaluate",
    "postprocess",
    "process",
    "process_text",
    "process_text_batch",
    "warm",
]


def warm() -> None:
    """Import what the operations need, so that the first call is as fast as the others and no two threads import at once."""
    from importlib import import_module

    for module in ("sandbox.execution", "expansion", "operations"):
        import_module(f"innkeeper.macros.smart.{module}")
    for module in ("framing", "regex_rules", "assets_normalizer", "branches", "variables_update"):
        import_module(f"innkeeper.taverns.smart.{module}")
    import_module("regex")  # the engine of patterns, which is imported with the first one


def construct(call: Call, history: Any, presets_in_chat: Any, world_books: Any, variables: Any = None) -> Any:
    """``in_chat_constructor/construct``; with the verdict on every entry where the call asks for an explanation."""
    from innkeeper.taverns import smart

    given = (history, presets_in_chat, world_books, variables)
    if not call.explain:
        return smart.construct(*given, options=call.options())
    made = smart.construct_explained(*given, options=call.options())
    return {"messages": made.messages, "verdicts": [verdict.to_dict() for verdict in made.verdicts]}


def assemble(call: Call, **arguments: Any) -> Any:
    """``framing_prompt/assemble``."""
    from innkeeper.taverns import smart

    return smart.assemble(**arguments, options=call.options())


def assemble_full(call: Call, **arguments: Any) -> Any:
    """``prompt_raw/assemble_full``."""
    from innkeeper.taverns import smart

    return smart.assemble_full(**arguments, options=call.options())


def postprocess(call: Call, messages: Any, regex_rules: Any, view: str, variables: Any = None) -> Any:
    """``prompt_postprocess/apply``."""
    from innkeeper.taverns.smart.regex_rules import postprocess_apply

    return postprocess_apply(messages, regex_rules, view, variables, options=call.options(), notes=call.notes)


def apply_messages(
    call: Call, regex_rules: Any, placement: str, view: str, messages: Any, variables: Any = None
) -> Any:
    """``regex_replace/apply_messages``."""
    from innkeeper.taverns.smart.regex_rules import apply_messages

    return apply_messages(regex_rules, placement, view, messages, variables, options=call.options(), notes=call.notes)


def apply_text(call: Call, regex_rules: Any, placement: str, view: str, text: str, variables: Any = None) -> Any:
    """``regex_replace/apply_text``."""
    from innkeeper.taverns.smart.regex_rules import apply_text

    return apply_text(regex_rules, placement, view, text, variables, options=call.options(), notes=call.notes)


def process(call: Call, messages: Any, variables: Any = None, policy: Any = None) -> Any:
    """``macro/process``."""
    from innkeeper.macros import smart

    return smart.process(messages, variables, policy, options=call.options().macros, notes=call.notes)


def process_text(call: Call, text: str, variables: Any = None, policy: Any = None) -> Any:
    """``macro/process_text``."""
    from innkeeper.macros import smart

    return smart.process_text(text, variables, policy, options=call.options().macros, notes=call.notes)


def process_text_batch(call: Call, texts: Any, variables: Any = None, policy: Any = None) -> Any:
    """``macro/process_text_batch``."""
    from innkeeper.macros import smart

    return smart.process_text_batch(texts, variables, policy, options=call.options().macros, notes=call.notes)


def evaluate(call: Call, code: str, variables: Any = None, policy: Any = None) -> Any:
    """``python_sandbox/eval``. Off with the macro: then it is refused as the sandbox refuses."""
    from innkeeper.macros.smart import sandbox

    if not call.house.settings.python:
        tables = {"initial": variables or {}, "final": variables or {}}
        return {"success": False, "result": "", "error": "python is switched off (--no-python)", "variables": tables}
    return sandbox.evaluate(code, variables, policy, options=call.options().macros)
