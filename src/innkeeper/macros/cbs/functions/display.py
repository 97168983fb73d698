"""Functions of output: line breaks, private characters, and the HTML that RisuAI shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from innkeeper.macros.cbs.escapes import BRACES
from innkeeper.macros.cbs.functions.texts import decoded_base64
from innkeeper.macros.cbs.run import MAX_CHARACTERS, CbsCall, Function, Result, ThrownError, by_alias, checked

_HTML: Final = str.maketrans({'"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;"})


def escaped_break(call: CbsCall) -> Result:
    r"""``\n`` as two characters. With a count, RisuAI repeats the tag instead."""
    if not call.args:
        return "\\n"
    count = max(call.number(0), 1.0)
    if math.isinf(count):
        raise ThrownError
    if math.isnan(count):
        return ""
    characters = count * len(call.tag)
    checked(characters, "the characters that a tag repeats", "MAX_CHARACTERS", MAX_CHARACTERS)
    return call.tag * int(count)


def file(call: CbsCall) -> Result:
    """The text of a file in base64; on screens its name."""
    if call.scope.display:
        return f'<br><div class="risu-file">{call.shown(0)}</div><br>'
    return decoded_base64(call.text(1)).decode("utf-8", "replace")


def codeblock(call: CbsCall) -> Result:
    """Code as HTML, with its language where that stands before it."""
    code = call.text(len(call.args) - 1).translate(_HTML)
    if len(call.args) > 1:
        return f'<pre-hljs-placeholder lang="{call.args[0]}">{code}</pre-hljs-placeholder>'
    return f"<pre><code>{code}</code></pre>"


def risu(call: CbsCall) -> Result:
    """RisuAI's logo."""
    size = call.shown(0, "45") or "45"
    return f'<img src="/logo2.png" style="height:{size}px;width:{size}px" />'


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "bo ddecbo doubledisplayescapedcurlybracketopen": lambda _: BRACES[0] * 2,
        "bc ddecbc doubledisplayescapedcurlybracketclose": lambda _: BRACES[1] * 2,
        "decbo displayescapedcurlybracketopen": lambda _: BRACES[0],
        "decbc displayescapedcurlybracketclose": lambda _: BRACES[1],
        "( debo displayescapedbracketopen": lambda _: "\ue9ba",
        ") debc displayescapedbracketclose": lambda _: "\ue9bb",
        "< deabo displayescapedanglebracketopen": lambda _: "\ue9bc",
        "> deabc displayescapedanglebracketclose": lambda _: "\ue9bd",
        ": dec displayescapedcolon": lambda _: "\ue9be",
        "; displayescapedsemicolon": lambda _: "\ue9bf",
        "br newline": lambda _: "\n",
        "cbr cnl cnewline": escaped_break,
        "blank none hiddenkey": lambda _: "",
        "comment": lambda call: f'<div class="risu-comment">{call.shown(0)}</div>' if call.scope.display else "",
        "button": lambda call: (
            f'<button class="button-default" risu-trigger="{call.shown(1)}">{call.shown(0)}</button>'
        ),
        "risu": risu,
        "file": file,
        "tex latex katex": lambda call: f"$${call.shown(0)}$$",
        "ruby furigana": lambda call: f"<ruby>{call.shown(0)}<rp> (</rp><rt>{call.shown(1)}</rt><rp>) </rp></ruby>",
        "codeblock": codeblock,
    }
)
