"""``innkeeper build``, ``innkeeper replay`` and ``innkeeper admin parity``: a prompt from files, and recorded ones built again.

Build shows people a table and gives programs JSON. Replay builds a recorded prompt again and says whether it gives the same
bytes. Parity runs golden cases of the original systems and shows every disagreement.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import examples, json_option, json_text, print_result
from innkeeper.cli.app.paging import paged
from innkeeper.cli.app.progress import progress
from innkeeper.cli.prompt.asset_options import asset_options, install_options, turn_options
from innkeeper.cli.settings import completion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from innkeeper.cli.app.screen import Screen
    from innkeeper.cli.prompt.assets import AssetFiles
    from innkeeper.cli.settings.model_choice import ModelChoice
    from innkeeper.content.finding import Finding
    from innkeeper.prompt import BuildRequest, Note, Plan, Ports


@click.command(
    epilog=examples(
        "innkeeper build wenna.png evening.jsonl --explain",
        'innkeeper build wenna.png --message "Is the reef safe?" --dialect anthropic',
        "innkeeper build --sillytavern ~/SillyTavern --character Mira --why Barrels",
    )
)
@click.argument("files", nargs=-1, shell_complete=completion.cards)
@asset_options
@install_options
@turn_options
@click.option(
    "--dialect",
    metavar="NAME",
    shell_complete=completion.offered(lambda: completion.DIALECT_NAMES),
    help="Print the provider request in this dialect, as JSON.",
)
@click.option("--messages", "only_messages", is_flag=True, help="Print only the messages of the request.")
@click.option("--explain", is_flag=True, help="Explain each lorebook entry and each step.")
@click.option("--why", metavar="WHAT", help="Explain one thing: a lorebook entry, a book, or the number of a message.")
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
@click.option(
    "--html", "page", type=click.Path(path_type=Path), help="Write the prompt, coloured by origin, as a page."
)
@click.option("--svg", "picture", type=click.Path(path_type=Path), help="Draw the tokens of the window into this file.")
@click.option("--replay-out", type=click.Path(path_type=Path), help="Record the build for `innkeeper replay`.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
@paged
def build(files: tuple[str, ...], **options: Any) -> None:
    """Build a prompt and show it.

    FILES are a build request, a card, a persona, lorebooks, presets, a chat, in any order, recognised by their content; "-" is
    standard input. Options name the same assets. The output is a table of the messages; with --dialect the request to a
    provider; with --json the whole plan, with --explain including every lorebook entry.

    With --sillytavern the prompt is the one that SillyTavern would send next from that folder, with the assets selected there;
    without --character and --group, in the chat that was open last.
    """
    from innkeeper.cli.prompt.assets import AssetFiles

    since = thread_time()
    assets = AssetFiles.of(files, options)
    with planned(assets, options, since=since) as plan:
        if options["replay_out"] is not None:
            _deliver(plan.replay(options["dialect"]).to_json(), options["replay_out"], force=options["force"])
        _deliver_pages(plan, options)
        shown = _shown(plan, assets.findings, options)
    if assets.prepared is not None and not (options["as_json"] or options["dialect"] or options["only_messages"]):
        shown = f"{assets.prepared}\n{shown}"
    if options["out"] is None:
        click.echo(shown, nl=False)
    else:
        _deliver(shown.encode("utf-8", "replace"), options["out"], force=options["force"])


def _deliver_pages(plan: Plan, options: Mapping[str, Any]) -> None:
    """Write the page and the picture that are asked for."""
    if options["page"] is None and options["picture"] is None:
        return
    from innkeeper.budget import accounting
    from innkeeper.cli.app.plan_page import plan_page, window_svg

    figures = accounting(plan)
    for path, text in ((options["page"], plan_page(plan, figures)), (options["picture"], window_svg(figures))):
        if path is not None:
            _deliver(text.encode("utf-8", "replace"), path, force=options["force"])


@contextmanager
def planned(
    assets: AssetFiles, options: Mapping[str, Any], *, since: float | None = None, now: str | None = None
) -> Iterator[Plan]:
    """Build the plan of files and options, and work with it within the limits of one command.

    ``now`` is the time of a build that names none. Raises `UsageError` where there is nothing to build from, and what a build
    raises.
    """
    from innkeeper.cli.prompt.assets import command_limits, request_fields
    from innkeeper.prompt import Ports
    from innkeeper.prompt.allowance import allowed
    from innkeeper.taverns import build as build_plan

    _check_options(assets, options)
    fields = request_fields(options, "message", "greeting", "dialect")
    fields["model"] = _model(assets, options["model"])
    if assets.prepared is not None and assets.prepared.request.dialect == "text":
        fields["dialect"] = None  # which is that of the folder's API: the option is for printing alone
    ports = Ports(media=None if assets.prepared is None else assets.prepared.media)
    request = assets.request(fields, options["settings"])
    if request.now is None and now is not None:
        request = request.with_(now=now)
    with allowed(command_limits(request), since=since):
        request, ports, notes = begun(assets, request, ports, options)
        plan = build_plan(request, ports)
        notes = (*notes, *(() if assets.prepared is None else assets.prepared.notes))
        yield plan.with_(notes=(*notes, *plan.notes)) if notes else plan


def begun(
    assets: AssetFiles, request: BuildRequest, ports: Ports, options: Mapping[str, Any]
) -> tuple[BuildRequest, Ports, tuple[Note, ...]]:
    """Return the request as the service has it, settled by profile and route, with a greeting where no chat is; and notes.

    The ports count as the model on this machine does, where it would answer. Raises `UsageError` for a greeting that comes too
    late for the chat.
    """
    from innkeeper.conversation.greetings import opening_messages
    from innkeeper.prompt import UsageError

    notes: tuple[Note, ...] = ()
    number, own = options["greeting"], assets.profile
    if number is not None and request.history:
        raise UsageError("the chat has begun: no greeting is added to it", hint="leave --greeting or the chat out")
    choice = _choice(assets, options["model"])
    if choice is not None and choice.is_local:
        from innkeeper.inference.local.vocabulary import counting_ports

        ports = counting_ports(choice.route.adapter, choice.route.model, ports)
    if own is not None and choice is not None:
        request, notes = _settled(request, choice)
        number = own.profile.greeting_number if number is None else number
    else:
        number = number or 0
    if request.history or number is None or (own is None and "request" in assets.fields):
        return request, ports, notes
    return request.with_(history=tuple(opening_messages(request, number, ports))), ports, notes


def _choice(assets: AssetFiles, model: str | None) -> ModelChoice | None:
    """Return the model that would answer: a profile's, or the one that is named; None where nobody says one."""
    from innkeeper.cli.settings.model_choice import choose_model, profile_choice
    from innkeeper.cli.settings.settings import UserSettings

    settings = assets.settings or UserSettings.read()
    if assets.profile is not None:
        return profile_choice(settings, assets.profile.profile, model, need_address=False)
    return choose_model(settings, model, need_address=False) if model else None


def _settled(request: BuildRequest, choice: ModelChoice) -> tuple[BuildRequest, tuple[Note, ...]]:
    """Return the request of a profile for the route that would answer it, and notes."""
    from innkeeper.conversation import TurnInput, settled_request

    named = choice.address is None and not choice.is_local
    fields: dict[str, Any] = {"model": choice.name or None} if named else choice.route.turn_fields(request.dialect)
    return settled_request(request, TurnInput(**fields, seed=request.seed))


def _model(assets: AssetFiles, model: str | None) -> str | None:
    """Return the model for the prompt: the option, which may be an alias, else the configured one."""
    from innkeeper.cli.settings.model_choice import named_model

    settings = assets.settings if model else assets.settled
    return None if settings is None or assets.profile is not None else named_model(settings, model)


def _check_options(assets: AssetFiles, options: Mapping[str, Any]) -> None:
    """Check that there is more to build from than a preset. Raises `UsageError`."""
    if not assets.fields and not options["settings"] and options["message"] is None:
        from innkeeper.prompt import UsageError

        hint = "give a card, a chat or a build request, or --message; `innkeeper demo` shows a whole prompt"
        raise UsageError("there is nothing to build a prompt from", hint=hint)


def _shown(plan: Plan, findings: list[Finding], options: dict[str, Any]) -> str:
    from innkeeper.cli.app.render import note_lines

    if options["as_json"]:
        return json_text(_facts(plan, findings, explain=options["explain"])) + "\n"
    if options["dialect"] or options["only_messages"]:
        name = options["dialect"] or plan.dialect or "openai"
        if options["only_messages"]:
            return json.dumps(plan.to_messages(name), ensure_ascii=False, indent=2) + "\n"
        asked = plan.to_request(name)
        click.echo("".join(f"{line}\n" for line in note_lines(asked.notes)), err=True, nl=False)
        return json.dumps(asked.body, ensure_ascii=False, indent=2) + "\n"
    return _for_people(plan, findings, options)


def _facts(plan: Plan, findings: list[Finding], *, explain: bool) -> dict[str, Any]:
    from innkeeper.budget import accounting

    facts = plan.to_dict() if explain else {"notes": plan.to_dict().get("notes", [])}
    return {
        "messages": plan.to_messages("openai"),
        "tokens": accounting(plan).to_dict(),
        "fingerprint": plan.fingerprint(),
        "findings": [str(finding) for finding in findings],
        **facts,
    }


def _for_people(plan: Plan, findings: list[Finding], options: dict[str, Any]) -> str:
    from innkeeper.budget import accounting
    from innkeeper.cli.app.render import explain_entries, explain_part, explain_plan, recorded

    def show(screen: Screen) -> None:
        if options["why"] is not None:
            explain_part(screen, plan, options["why"])
            return
        explain_plan(screen, plan, accounting(plan))
        if options["explain"]:
            explain_entries(screen, plan)
        for finding in findings:
            screen.line(f"finding: {finding}")

    return recorded(show, for_terminal=options["out"] is None)


def _deliver(data: bytes, out: Path, *, force: bool) -> None:
    """Write a file and report it. Raises `OutputExistsError`."""
    from innkeeper.content.files.saving import save_bytes

    save_bytes(out, data, force=force)
    click.echo(f"wrote {out} ({len(data):,} bytes)", err=True)


@click.command(epilog=examples("innkeeper replay turn.json", "innkeeper replay --log 31"))
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--log", "lines", type=int, multiple=True, metavar="NUMBER", help="An entry of `innkeeper log`; repeatable."
)
@json_option
def replay(files: tuple[str, ...], lines: tuple[int, ...], *, as_json: bool) -> None:
    """Build recorded prompts again and compare the bytes.

    FILES were written by `innkeeper build --replay-out`. Exits with 65 at the first prompt that differs from its record.
    """
    from innkeeper.inference.local.vocabulary import replay_ports
    from innkeeper.prompt import ReplayBundle
    from innkeeper.prompt.text import count_of
    from innkeeper.taverns import replay as replay_bundle

    if not files and not lines:
        raise click.UsageError("name a recorded build, or a line of the log with --log")
    bundles = [(name, ReplayBundle.read(name)) for name in files]
    if lines:
        from innkeeper.cli.talk.log import TalkLog

        bundles += [(f"line {number}", TalkLog().bundle(number)) for number in lines]
    for name, bundle in bundles:
        plan = replay_bundle(bundle, ports=replay_ports(bundle))
        facts = {"file": name, "same": True, "fingerprint": bundle.fingerprint, "dialect": bundle.dialect}
        words = f"{name}: same bytes, {count_of(len(plan.sent_blocks()), 'message')}, {bundle.fingerprint[:16]}…"
        print_result(facts, words, as_json=as_json)


@click.command(epilog=examples("innkeeper admin parity tests/vectors --tavern silly"))
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--tavern", help="Only cases of this tavern (silly, smart, risu).")
@click.option("--area", help="Only cases of this area.")
@click.option("--case", "names", multiple=True, help="Only the case with this name; repeatable.")
@click.option("--limit", default=20, show_default=True, help="How many disagreements to print; 0 means all.")
@json_option
def parity(
    paths: tuple[Path, ...], tavern: str | None, area: str | None, names: tuple[str, ...], limit: int, *, as_json: bool
) -> int:
    """Run case files (or folders of them) and print agreed/total for each area, then each disagreement.

    Exits with 1 if any case disagrees or crashes, else with 0. Cases that need a vocabulary that cannot be shipped
    are listed as unavailable and never count as agreed.
    """
    with progress("cases", None, quiet=as_json) as step:
        text, agreed = _parity_report()(paths, tavern, area, names, limit, as_json=as_json, step=step)
    print_result(json.loads(text) if as_json else None, text, as_json=as_json)
    return int(not agreed)


def _parity_report() -> Any:
    """The runner of golden cases, which is beside the package in a checkout. Raises `UnavailableError` where there is none."""
    from innkeeper.prompt.errors import UnavailableError

    root = Path(__file__).parents[4]
    if not (root / "scripts" / "parity").is_dir():
        message = "golden cases are run in a checkout of the project: they are not part of the installed package"
        raise UnavailableError(message, hint="get the sources and run `innkeeper admin parity tests/vectors` in them")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module("scripts.parity.report").report
