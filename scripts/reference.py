"""Write the pages that are made from the source: commands, calls over HTTP, errors, the environment, inputs, evaluation."""

from __future__ import annotations

import asyncio
import importlib
import json
import pkgutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import click
import httpx

import innkeeper
from innkeeper.cli.app.root import root
from innkeeper.cli.settings.settings import SETTINGS
from innkeeper.macros.silly.modern import PACK
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service import Settings, create_app
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.description import document_bytes
from innkeeper.service.inspector.library.library_access import LibraryAccess
from innkeeper.service.inspector.session.session import WorkspaceSession
from innkeeper.service.inspector.surface import Inspector
from innkeeper.taverns import TAVERNS
from innkeeper.taverns.keywords import descriptions
from innkeeper.taverns.silly.order import CHAT_ORDER, TEXT_ORDER, Stage

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.input_matrix import Outcome, rows  # noqa: E402 - found by the path above

DOCS: Final = ROOT / "docs"
WRITTEN: Final = "<!-- Written by `python scripts/reference.py`; change the source, not this page. -->\n"

ENVIRONMENT: Final = {
    "INNKEEPER_HOME": "where Innkeeper keeps its files: weights, the log of conversations, the database, keys",
    "INNKEEPER_CONFIG": "the configuration file",
    "INNKEEPER_API_KEY": "the key of the provider; it wins over stored keys",
    "INNKEEPER_BASE_URL": "the provider's address, `http://localhost:8000` where nothing says another",
    "INNKEEPER_API_PREFIX": "what stands between the address and the path of a call, `/v1`",
    "INNKEEPER_TIMEOUT": "seconds of silence of a provider, 120",
    "INNKEEPER_OPEN_TIMEOUT": "seconds until a provider must be connected, 10",
    "INNKEEPER_TOTAL_TIMEOUT": "seconds that a whole answer may take, 900",
    "INNKEEPER_DATABASE_URL": "the library's database: an address or the path of a SQLite file",
    "INNKEEPER_VAULT_KEY": "the keys of the vault, the newest first",
    "INNKEEPER_VAULT_KEY_FILE": "the path of a file with the keys of the vault, or `keyring:`",
    "INNKEEPER_URL": "where a service answers, for `innkeeper admin call` and the client of the service",
    "INNKEEPER_ASSETS": "where results of jobs are kept: a folder, or an address such as `s3://bucket/folder`",
    "INNKEEPER_WEBHOOK_SECRET": "the secret that signs messages about jobs that have ended",
    "INNKEEPER_SERVICE_KEY": "the key of the service, for the service and for those who call it",
    "INNKEEPER_WORKER_INVITATION": "the invitation with which a worker joins a service, the first time",
    "INNKEEPER_DEBUG": "`1` shows the traceback of an unexpected error",
    "_INNKEEPER_COMPLETE": "set by a shell that asks for completions; see `innkeeper completion`",
    "XDG_DATA_HOME": "on Linux, where programs keep their files: `INNKEEPER_HOME` goes before it",
    "XDG_CONFIG_HOME": "on Linux, where settings are: `INNKEEPER_CONFIG` goes before it",
    "LOCALAPPDATA": "on Windows, what `XDG_DATA_HOME` is on Linux",
    "APPDATA": "on Windows, what `XDG_CONFIG_HOME` is on Linux",
    "COLUMNS": "how wide the tables of `library` and its like are that go to a file; prompts are 100 wide there",
    "FORCE_COLOR": "where it is set, output has the colours and the width of a terminal wherever it goes",
    "NO_COLOR": "where it is set, no output has colours",
    "TERM": "`dumb` is a terminal without colours",
    "SHELL": "which shell `innkeeper completion` writes for where none is named",
    "CI": "where it is set, a model in this process computes with one thread",
}
"""The variables that are read beside those of settings, and what each says."""

MENDS: Final = {
    "InnkeeperError": "the message says what; `hint` says how",
    "UsageError": "change the call: the message names the argument, the hint the nearest that exists",
    "ConfigError": "correct the key that the message names; the hint lists those that exist",
    "InputError": "mend the file or the request at the place that the error names",
    "UnsupportedError": "convert the data to a version that is read; the message names them",
    "LimitError": "make the input smaller, or raise the limit that the message names, where the [table](../limits.md) says how",
    "StrictModeError": "mend what the warning names, or build without `strict`",
    "PipelineError": "mend the cause, which is shown; the step is in `step`",
    "MaxTokensExceededError": "shorten the protected blocks, raise the context window or lower the reserve",
    "ReplayError": "build again with the version that the bundle names, or record a new one",
    "UnavailableError": "get what is missing: the hint says the command that installs or starts it",
    "ProviderConnectionError": "see that the server runs and that the address is right; then ask again",
    "ProviderTimeoutError": "ask again, or allow more time (`INNKEEPER_TIMEOUT`, `INNKEEPER_TOTAL_TIMEOUT`)",
    "StreamCutError": "ask again from the beginning; `partial` is the text so far",
    "DecodeError": "see that the address is that of an OpenAI-compatible API; `sample` is how the answer began",
    "RequestCancelledError": "nothing is to be mended: it was asked for",
    "ProviderError": "see `status`: 401 and 403 want another key, 404 another model or address, 429 and 5xx some patience",
}
"""How errors of a branch are mended, where a class does not say it better itself (`HINT`)."""


def environment() -> str:
    """The page of all environment variables."""
    rows = dict(ENVIRONMENT)
    for setting in SETTINGS.values():
        rows.setdefault(setting.variable, f"the setting `{setting.name}`: {setting.help.rstrip('.')}")
    lines = [f"| `{name}` | {what} |" for name, what in sorted(rows.items())]
    return "\n".join([WRITTEN + _ENVIRONMENT, "| variable | what it says |", "|---|---|", *lines, ""])


_ENVIRONMENT: Final = """\
# Environment variables

Every variable that is read. What a command is told wins over the environment, the environment over the configuration file
(`innkeeper config show` says where each value comes from). No other variable changes what a build gives, and none of a
provider's own (`OPENAI_API_KEY` and so on) is read: `innkeeper keys set openai` stores a key once.
"""


def errors() -> str:
    """The page of all errors, as a tree."""
    for module in pkgutil.walk_packages(innkeeper.__path__, "innkeeper."):
        if "migrations.versions" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    rows = (_row(kind, level) for kind, level in _tree(InnkeeperError, 0))
    head = ["| error | when | how to mend it | exit code | HTTP |", "|---|---|---|---|---|"]
    return "\n".join([WRITTEN + _ERRORS, *head, *rows, ""])


_ERRORS: Final = """\
# Errors

Every error that is raised on purpose, each below the one it is a kind of: who catches a class catches those below it. What an
error knows, and how it is shown, is in [the contract](../contracts/errors.md). An error may bring a `hint` of its own, which fits
the case better than this table.
"""


def _tree(kind: type[InnkeeperError], level: int) -> Iterator[tuple[type[InnkeeperError], int]]:
    yield kind, level
    for below in sorted(kind.__subclasses__(), key=lambda one: one.__name__):
        if below.__module__.startswith("innkeeper."):
            yield from _tree(below, level + 1)


def _row(kind: type[InnkeeperError], level: int) -> str:
    when = (kind.__doc__ or "").strip().partition("\n")[0].replace("|", "\\|")
    mend = next(hint for one in kind.__mro__ if (hint := vars(one).get("HINT") or MENDS.get(one.__name__)))
    name = f"{'· ' * level}`{kind.__name__}`"
    return f"| {name} <br> {kind.__module__} | {when} | {mend} | {kind.exit_code} | {kind.http_status} |"


BELOW: Final = {
    "ports.variables": "the store of variables",
    "ports.injections": "injections that change while the application runs",
    "meta.system_template": "a system text of this build",
    "meta.post_history_template": "a text after the history of this build",
    "meta.model_hint": "what tokens are counted for",
    "settings.anything": "a setting that no tavern knows",
    "chat_metadata.note_prompt": "the note of a stored chat, with its interval, depth, position and role",
    "chat_metadata.variables": "the variables of a stored chat",
    "chat_metadata.timedWorldInfo": "lasting effects of lore, as SillyTavern stores them",
    "chat_metadata.innkeeper": "lasting effects of lore, as we store them",
    "chat_metadata.scenario": "instead of the card's",
    "chat_metadata.mes_example": "instead of the card's",
    "chat_metadata.system_prompt": "instead of the card's",
    "chat_metadata.chat_id_hash": "what `pick` draws from",
    "chat_metadata.main_chat": "what `pick` draws from in a branch of a chat",
    "chat_metadata.pick_reroll_seed": "what `pick` draws from",
    "chat_metadata.lastInContextMessageId": "the first message that was sent last time",
    "chat_metadata.world_info": "the name of the chat's lorebook, which comes as a lorebook",
    "chat_metadata.script_injects": "texts that scripts put in, which come as injections",
    "chat_metadata.persona": "the file name of the chat's persona, which comes as the user",
    "chat_metadata.cfg_guidance_scale": "the scale of guidance for this chat",
    "chat_metadata.cfg_negative_prompt": "the text that guidance leads away from",
    "chat_metadata.cfg_positive_prompt": "the text that guidance leads to",
    "chat_metadata.cfg_prompt_combine": "whose texts of guidance are joined",
    "chat_metadata.cfg_prompt_insertion_depth": "where the text of guidance stands",
    "chat_metadata.cfg_prompt_separator": "what is between joined texts of guidance",
    "chat_metadata.cfg_groupchat_individual_chars": "whether each member of a group has guidance of its own",
    "chat_metadata.attachments": "the data bank's files for this chat",
    "chat_metadata.anything": "a key that no tavern knows",
}
"""Rows of the table besides the keywords: keys of mappings, after a point, and keywords that are an object or data."""

NOT_LISTED: Final = frozenset({"configs", "meta", "settings"})
"""Keywords of which the table has what is in them."""


def inputs() -> dict[str, str]:
    """Every input of a build with its description; a port is an object that is not data, and has the prefix ``ports.``."""
    fields = BuildRequest.__struct_fields__
    named = {name if name in fields else f"ports.{name}": text for name, text in descriptions().items()}
    return {name: text for name, text in named.items() if name.removeprefix("ports.") not in NOT_LISTED} | BELOW


def inputs_page() -> str:
    """The page of all inputs in every tavern, as builds with and without each of them tell."""
    made, listed = rows(), inputs()
    ruler = "---|" * len(TAVERNS)
    lines = [f"| input | what it is | {' | '.join(TAVERNS)} |", f"|---|---|{ruler}"]
    for name, text in listed.items():
        lines.append(f"| `{name}` | {text} | {' | '.join(_cell(made[name][tavern]) for tavern in TAVERNS)} |")
    lines += ["", _FIELDS, f"| field | {' | '.join(TAVERNS)} |", f"|---|{ruler}"]
    for name, row in made.items():
        if name not in listed:
            lines.append(f"| `{name}` | {' | '.join(row[tavern].kind for tavern in TAVERNS)} |")
    return "\n".join([WRITTEN + _INPUTS, *lines, ""])


def _cell(made: Outcome) -> str:
    return f"noted: {made.reason}" if made.kind == "noted" else made.kind


_FIELDS: Final = """\
## Fields

What becomes of each field of an asset, a message, a note, a group or an injection. `anything` is a key that nobody knows: its
note says which is nearest. A field of an asset that is not used as a whole is noted with the asset.
"""

_INPUTS: Final = """\
# Inputs in every tavern

An input is used, noted as without effect in `plan.notes`, by its name, or refused with an error. Each cell is what two builds
tell, one with the input and one without it. A keyword that does not exist is refused by every tavern. Names that begin with
`ports.` are objects beside the request; `chat_metadata` comes with a stored chat as `history`, or in `settings`.

An asset (`character`, `user`, `group`, `lorebooks`, `preset`) is typed content, the JSON it is read from, or a text where a
text can be meant, and means the same everywhere. What is wrong in an asset that is used is the same warning in every
tavern, and an error with `strict=True`.
"""


def order_page() -> str:
    """The page of the order of evaluation: what both kinds of prompts start with, then each kind."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(CHAT_ORDER, TEXT_ORDER, strict=False)))
    tables = {"Every prompt": CHAT_ORDER[:shared], "Chats": CHAT_ORDER[shared:], "Text completion": TEXT_ORDER[shared:]}
    parts = (f"## {title}\n\n| stage | step | texts, in this order | |\n|---|---|---|---|" for title in tables)
    lines = (
        line for head, table in zip(parts, tables.values(), strict=True) for line in (head, *map(_stage_row, table), "")
    )
    return "\n".join([WRITTEN + _ORDER, *lines])


def _stage_row(stage: Stage) -> str:
    return f"| `{stage.name}` | `{stage.step}` | {', '.join(stage.texts)} | {'again' if stage.again else ''} |"


_ORDER: Final = """\
# The order of evaluation

When the [silly tavern](../taverns/silly.md#the-order-of-evaluation) expands which text. Stages marked *again* expand texts only
for the effects of their macros. In a dry run the last four stages of a chat change nothing, and the last two of a text
completion are left out.
"""


_COMMANDS: Final = """\
# Commands

Exit codes: 0 done; 1 failed; 2 wrong usage; 65 the input cannot be used; 69 something that is needed is missing; 70 a
defect of Innkeeper; 130 stopped with Ctrl-C; 141 the reader of the output went away.

Errors go to stderr: as text for people, or with `--json` as one line `{"error": {"kind", "message", …, "exit_code"}}`.
`--debug`, or `INNKEEPER_DEBUG=1`, adds the traceback.

"""


def commands_page() -> str:
    """The help of every command, asked for by a process of its own: what has asked before would show in it."""
    asked = [sys.executable, "-m", "scripts.reference", "--commands"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True).stdout


def _commands() -> str:
    context = root.make_context("innkeeper", ["--version"], resilient_parsing=True, terminal_width=100)
    help_of_all = ["```text", root.get_help(context), "```", *_below(root, context, 2)]
    return "\n".join([_COMMANDS.rstrip("\n"), "", WRITTEN, *help_of_all]) + "\n"


def _below(group: click.Group, context: click.Context, level: int) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name) or group
        inner = click.Context(command, info_name=name, parent=context)
        yield from ("", f"{'#' * level} {inner.command_path}", "", "```text", command.get_help(inner).rstrip(), "```")
        if isinstance(command, click.Group):
            yield from _below(command, inner, level + 1)


_HTTP: Final = """\
# Calls over HTTP

Every path of the [service](../service.md), from its OpenAPI document (`GET /openapi.json`, which has the shapes). An
operation is also at the path of its name, as `POST /v1/jobs:submit`. The paths of the [inspector](../inspector.md) are
served by `innkeeper inspect`, too.

"""


async def _service() -> Any:
    """The service's own description."""
    transport = httpx.ASGITransport(app=create_app(Settings()))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return (await client.get("/openapi.json")).json()


def http_page() -> str:
    """What is at each path of the service and of the inspector."""
    rows: dict[str, list[str]] = {}
    inspector = json.loads(
        document_bytes(Inspector(WorkspaceSession("", []), Access(), library=LibraryAccess("none.db")).table)
    )
    for document in (asyncio.run(_service()), inspector):
        for path, methods in document["paths"].items():
            for method, call in methods.items():
                if method in {"get", "post", "put", "delete"} and not (
                    method == "get" and "post" in methods and "/api/" in path
                ):
                    rows.setdefault(call["tags"][0], []).append(f"| `{method.upper()} {path}` | {call['summary']} |")
    parts = [f"## {tag}\n\n| call | what it does |\n|---|---|\n" + "\n".join(lines) for tag, lines in rows.items()]
    return "\n\n".join([_HTTP.rstrip("\n"), WRITTEN.rstrip("\n"), *parts]) + "\n"


def macros_page() -> str:
    """The page on macros, with the names of today between its marks."""
    page = (DOCS / "macros.md").read_text(encoding="utf-8")
    rows = dict.fromkeys(PACK.table.values())
    aliases = {row.name: f" ({', '.join(f'`{name}`' for name in row.aliases)})" if row.aliases else "" for row in rows}
    names = ", ".join(f"`{name}`{also}" for name, also in aliases.items())
    before, rest = page.split("<!-- macros: begin -->\n")
    listed = textwrap.fill(names, 120, break_long_words=False, break_on_hyphens=False)
    after = rest.split("<!-- macros: end -->")[1]
    return f"{before}<!-- macros: begin -->\n\n{listed}\n\n<!-- macros: end -->{after}"


PAGES: Final = {
    "reference/commands.md": commands_page,
    "reference/http.md": http_page,
    "reference/environment.md": environment,
    "reference/errors.md": errors,
    "reference/evaluation-order.md": order_page,
    "macros.md": macros_page,
    "taverns/inputs.md": inputs_page,
}
"""The pages, and what writes each."""

if __name__ == "__main__":
    if sys.argv[1:] == ["--commands"]:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        print(_commands(), end="")
    else:
        for name, page in PAGES.items():
            (DOCS / name).write_text(page(), encoding="utf-8")
