"""The first look at sandboxed code, before Python's own parser sees it: length, nesting, words that are never allowed.

It also mends what the parser would only warn about (unknown escapes, ``1if x else 2``): a warning would reach the whole process.
Behaviour stays Python's; columns after a mended place are a character or two off, as the code is longer there.
"""

from __future__ import annotations

import re
from typing import Final

from innkeeper.macros.smart.sandbox.limits import SandboxForbiddenError, SandboxLimits, SandboxSyntaxError

_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<text>(?P<prefix>[A-Za-z]{0,2})(?:'''(?:[^\\]|\\[\s\S])*?'''|\"\"\"(?:[^\\]|\\[\s\S])*?\"\"\"
        |'(?:[^\\\n']|\\[\s\S])*'|"(?:[^\\\n"]|\\[\s\S])*"))
    |(?P<number>(?:0[xX][\da-fA-F_]++|0[oObB][\d_]++|(?!0[xXoObB])(?:\d[\d_]*+(?:\.[\d_]*+)?|\.\d[\d_]*+)(?:[eE][+-]?\d[\d_]*+)?+[jJ]?+)
        (?=[^\W\d_]))
    |(?P<sign>(?:(?:[-+~]|not\b)[\s\\]*+)++)
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<word>[^\W\d]\w*)
    |(?P<digits>\d\w*)""",
    re.VERBOSE,
)
_BAD_ESCAPE: Final = re.compile(r"""\\(?:([0-7]{3})|([^\n\r\\'"abfnrtv0-7xNuU])|([\s\S]))""")
_SIGN: Final = re.compile(r"[-+~]|not")
_FORBIDDEN: Final = frozenset(
    {
        *(
            "as",
            "assert",
            "async",
            "await",
            "break",
            "class",
            "continue",
            "def",
            "del",
            "except",
            "finally",
            "for",
            "from",
        ),
        *("global", "import", "lambda", "nonlocal", "pass", "raise", "return", "try", "while", "with", "yield"),
    }
)
_ASCII: Final = 0o377


def position_parts(code: str, offset: int) -> dict[str, object]:
    """Line and column (both from 1) of an offset, with the line: the parts of a `Where`."""
    line = code.count("\n", 0, offset) + 1
    start = code.rfind("\n", 0, offset) + 1
    return {"line": line, "column": offset - start + 1, "excerpt": code[start : start + 120].split("\n", 1)[0]}


def prepared(code: str, limits: SandboxLimits) -> str:
    """The code as Python's parser may have it.

    Raises `SandboxLimitError` for code too long or too nested, `SandboxForbiddenError` for words and texts that the language
    does not have, `SandboxSyntaxError` for characters that no code can have.
    """
    if len(code) > limits.code_chars:
        raise limits.exceeded("code_chars", "the code", len(code))
    if "\0" in code or not _encodable(code):
        raise SandboxSyntaxError("the code holds a character that is none: NUL or half of a surrogate pair")
    return _TokenReader(code, limits).read()


def _encodable(code: str) -> bool:
    try:
        code.encode()
    except UnicodeEncodeError:
        return False
    return True


class _TokenReader:
    """Goes through the tokens of one piece of code."""

    __slots__ = ("code", "depth", "limits", "parts")

    def __init__(self, code: str, limits: SandboxLimits) -> None:
        self.code = code
        self.limits = limits
        self.depth = 0
        self.parts: list[str] = []

    def read(self) -> str:
        end = 0
        for token in _TOKEN.finditer(self.code):
            self.parts.append(self.code[end : token.start()])
            self.parts.append(self._checked(token))
            end = token.end()
        self.parts.append(self.code[end:])
        return "".join(self.parts)

    def _checked(self, token: re.Match[str]) -> str:
        text = token.group()
        match token.lastgroup:
            case "text":
                return self._text(token)
            case "number":
                return text + " "
            case "word" if text in _FORBIDDEN:
                raise SandboxForbiddenError(f"there is no `{text}` in the sandbox").at(
                    **position_parts(self.code, token.start())
                )
            case "open" | "close" | "sign":
                self._nest(token)
        return text

    def _nest(self, token: re.Match[str]) -> None:
        if token.lastgroup == "sign":
            count = len(_SIGN.findall(token.group()))
        else:
            self.depth += 1 if token.lastgroup == "open" else -1
            count = self.depth
        if count > self.limits.brackets:
            raise self.limits.exceeded("brackets", "the nesting of the code").at(
                **position_parts(self.code, token.start())
            )

    def _text(self, token: re.Match[str]) -> str:
        prefix = token["prefix"].lower()
        if prefix not in {"", "r", "u"}:
            raise SandboxForbiddenError(
                f"there are no texts with {prefix!r} in front in the sandbox",
                hint="join texts with +, or use 'a %s' % b",
            ).at(**position_parts(self.code, token.start()))
        return token.group() if prefix == "r" else _BAD_ESCAPE.sub(_escape, token.group())


def _escape(match: re.Match[str]) -> str:
    octal, other, _ = match.groups()
    if octal and int(octal, 8) > _ASCII:
        return f"\\u{int(octal, 8):04x}"
    return f"\\{match.group()}" if other else match.group()
