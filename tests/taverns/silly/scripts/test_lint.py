"""Lint of regex scripts: what is wrong is found, what is right is not."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.content.regex_script import RegexScripts
from innkeeper.taverns.silly.scripts import lint
from innkeeper.taverns.silly.scripts.lint import lint_scripts


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({}, []),
        ({"findRegex": "/\\*([^*\\n]+)\\*/g"}, []),
        ({"findRegex": "/(?<name>a|b)c/gimsu"}, []),
        ({"findRegex": "/<think>.*?<\\/think>/gs"}, ["slow-script"]),
        ({"findRegex": ""}, ["dead-script"]),
        ({"placement": []}, ["dead-script"]),
        ({"placement": [9]}, ["dead-script"]),
        ({"placement": [3]}, ["dead-script"]),
        ({"placement": [5]}, ["dead-script"]),
        ({"placement": [5], "promptOnly": True}, []),
        ({"minDepth": 3, "maxDepth": 1}, ["dead-script"]),
        ({"findRegex": "/(/"}, ["dead-script"]),
        ({"findRegex": "/a/x"}, ["dead-script"]),
        ({"findRegex": "/a/y"}, ["bad-flags"]),
        ({"findRegex": "/a/gg"}, ["bad-flags"]),
        ({"findRegex": "a/b"}, []),
        ({"findRegex": "a\nb"}, ["first-line-only"]),
        ({"findRegex": "/(a+)+$/"}, ["slow-script"]),
        ({"findRegex": "/\\s+$/"}, ["slow-script"]),
        ({"findRegex": "{{user}}(", "substituteRegex": 1}, []),
        ({"findRegex": "(", "disabled": True}, []),
    ],
)
def test_rules(fields: dict[str, Any], rules: list[str]) -> None:
    """Each fault has a rule, and the place of the script."""
    script = {"scriptName": "s", "findRegex": "a", "replaceString": "b", "trimStrings": [], "placement": [2], **fields}
    found = list(lint_scripts(RegexScripts.of([script]), "data.x"))
    assert [finding.rule for finding in found] == rules
    assert all(finding.path == "data.x[0]" for finding in found)


def test_findings_of_reading_are_told() -> None:
    """What was wrong when the scripts were read is a finding as well."""
    [finding] = lint_scripts(RegexScripts.of([{}]), "settings.regex")
    assert (finding.rule, finding.path) == ("no-placement", "settings.regex[0]")


def test_time_on_hard_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the time used up, scripts are still looked at, but not tried; how many is said."""
    monkeypatch.setattr(lint, "MAX_SECONDS", 0.0)
    scripts = [{"findRegex": "/(a+)+$/", "replaceString": "", "trimStrings": [], "placement": [1]}] * 3
    findings = list(lint_scripts(RegexScripts.of([*scripts, {**scripts[0], "findRegex": "/(/"}]), "regex"))
    assert [finding.rule for finding in findings] == ["dead-script", "untimed-scripts"]
    assert findings[-1].message.startswith("4 scripts")
