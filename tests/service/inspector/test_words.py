"""The page has words, in both languages, for whatever the service may tell it: reasons, findings, kinds of errors."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from string import Formatter

import pytest

import innkeeper
from innkeeper.budget.cache_plan import _MEND, _WHY
from innkeeper.lore.verdict import BaseReason, Reason
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.risu.lore.ranking import RisuReason
from innkeeper.taverns.smart.conditions import ConditionRule
from tests.shared import ROOT

WORDS = {
    name: json.loads((ROOT / f"inspector/src/words/{name}.json").read_text(encoding="utf-8")) for name in ("en", "zh")
}
REASONS: dict[str, type[BaseReason]] = {"silly": Reason, "smart": ConditionRule, "risu": RisuReason}

_ROOMS = ("content", "dialects", "lore", "macros", "taverns", "budget", "prompt", "tokens", "conversation")
_RULE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+|checksum|keyword|truncated|language")
_NO_RULES = {"latin-1"}


def rules() -> set[str]:
    """The rules of findings: words of their form in modules that make findings, at the places where these have them."""
    modules = (path for room in _ROOMS for path in (ROOT / "src/innkeeper" / room).rglob("*.py"))
    named = {rule for path in modules for rule in _rules(ast.parse(path.read_text(encoding="utf-8")))}
    return named - _NO_RULES


def _rules(tree: ast.Module) -> Iterator[str]:
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    if not imported & {"Finding", "FindingCollector", "Level"}:
        return
    for node in ast.walk(tree):
        values = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
        for value in values[:2]:
            for one in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                if isinstance(one, ast.Constant) and isinstance(one.value, str) and _RULE.fullmatch(one.value):
                    yield one.value


def errors() -> set[str]:
    """The kinds of all errors of the tree, wherever in the package they are."""
    for module in pkgutil.walk_packages(innkeeper.__path__, "innkeeper."):
        if not module.name.startswith(("innkeeper.cli", "innkeeper.__main__")):
            importlib.import_module(module.name)

    def below(kind: type[InnkeeperError]) -> Iterator[type[InnkeeperError]]:
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    ours: list[type[InnkeeperError]] = [InnkeeperError, *below(InnkeeperError)]
    return {Exception.__new__(kind).kind for kind in ours if kind.__module__.startswith("innkeeper.")}


@pytest.mark.parametrize("language", WORDS)
def test_there_is_a_word_for_each_code(language: str) -> None:
    """Of findings, notes and errors; and none that nothing says."""
    codes = rules() | {str(kind) for kind in NoteKind} | {"turns"} | errors()
    named = {key.removeprefix("code.") for key in WORDS[language] if key.startswith("code.")}
    assert (codes - named, named - codes) == (set(), set())


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("tavern", REASONS)
def test_there_is_a_sentence_for_each_reason(language: str, tavern: str) -> None:
    """With the facts of the service in it, in each tavern whose rules decide by it; and a name for lists."""
    words = WORDS[language]
    for reason in REASONS[tavern]:
        sentence = words.get(f"verdict.{tavern}.{reason.value}") or words[f"verdict.{reason.value}"]
        facts = {name for _, name, _, _ in Formatter().parse(reason.template) if name}
        assert set(re.findall(r"{(\w+)}", sentence)) == facts, reason
        assert words[f"reason.{reason.value}"]


def test_facts_are_told_as_they_stand_in_the_sentence() -> None:
    """Numbers rounded, lists joined, what is not known as a question mark."""
    facts = {"roll": 12.3456, "probability": 40}
    assert Reason.PROBABILITY.parameters(facts) == {"roll": "12.35", "probability": "40"}
    assert Reason.TRIGGER.parameters({"triggers": ("quiet", "continue")}) == {
        "triggers": "quiet, continue",
        "generation": "?",
    }
    judged = ConditionRule.INCLUDED.parameters({"depth": 1, "order": 2, "role": "system"})
    assert judged == {"depth": "1", "order": "2", "role": "system", "judged": ""}


SENTENCES = json.loads((ROOT / "inspector/src/words/sentences.json").read_text(encoding="utf-8"))

_SINKS = {"Note", "Finding", "_finding", "add", "note", "warn", "warning", "_note", "_warn"}
"""What makes notes and findings."""


def sentences() -> set[str]:
    """The sentences of notes and findings in the source, with ``{}`` for what differs."""
    found = set[str]()
    for room in _ROOMS:
        for path in (ROOT / "src/innkeeper" / room).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            scopes = [*(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), tree]
            found |= {_plain(one) for scope in scopes for one in _said(scope)}
    return {one for one in found if one.replace("{}", "").strip(" :;,.'()=>/")}


def _assigned(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """What the names of a scope are set to."""
    names: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).append(node.value)
    return names


def _said(scope: ast.AST) -> Iterator[str]:
    names = _assigned(scope)
    for node in ast.walk(scope):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            for argument in node.args if name in _SINKS else ():
                yield from _texts(argument, names)


def error_sentences() -> set[str]:
    """What errors of the inspector's own room say, and how they are mended."""
    found = set[str]()
    for path in (ROOT / "src/innkeeper/service/inspector").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        scopes = [*(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), tree]
        found |= {_plain(one) for scope in scopes for one in _refused(scope)}
    return {one for one in found if " " in one and one.replace("{}", "").strip(" :;,.'()")}


def _refused(scope: ast.AST) -> Iterator[str]:
    names = _assigned(scope)
    for node in ast.walk(scope):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            hints = [keyword.value for keyword in node.keywords if keyword.arg == "hint"]
            for argument in (*(node.args[:1] if name.endswith("Error") else ()), *hints):
                yield from _texts(argument, names)


def _texts(node: ast.expr, names: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The texts that an expression can be, as far as it says so itself."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.IfExp(body=one, orelse=other):
            yield from (*_texts(one, names), *_texts(other, names))
        case ast.Name(id=name):
            for value in names.get(name, ()):
                yield from _texts(value, {})


def _plain(text: str) -> str:
    """A sentence without the quotes and braces around its places."""
    return re.sub(r"\{*\{\}\}*", "{}", text).replace("'{}'", "{}")


MAX_UNTRANSLATED = 15
"""Sentences that may wait for their Chinese: they are told in English, after the word for their kind."""


def test_notes_and_findings_are_said_in_chinese_too() -> None:
    """Each sentence that the source has for them, but for the newest: ``inspector/src/words/sentences.json``."""
    missing = {one for one in sentences() if " " in one and one not in SENTENCES}
    assert len(missing) <= MAX_UNTRANSLATED, missing


def test_errors_of_the_inspector_are_said_in_chinese_too() -> None:
    """Their sentences and mends, all of them; and what names and limits are refused by."""
    common = {"unknown {} {}", "did you mean {}?", "{} exceeds the limit {} of {}", "{} exceeds the limit {} ({} > {})"}
    assert (error_sentences() | common) - SENTENCES.keys() == set()


def test_what_ends_a_cache_is_said_in_chinese_too() -> None:
    """Why, and the mend: sentences of their own, which no note makes."""
    texts = [text.format(macro="{}", source="{}") for text in (*_WHY.values(), *_MEND.values())]
    assert set(texts) <= SENTENCES.keys()
