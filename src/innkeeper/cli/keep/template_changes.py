"""Commands of ``innkeeper admin template`` that change something: versions are only added, labels move and leave a history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.keep.db import take_in, write_transfer
from innkeeper.cli.keep.library import STDIO, database_options, opened, print_table, read_bytes, read_text, who_option

if TYPE_CHECKING:
    from innkeeper.library.library import Library
    from innkeeper.library.templates.store import LabelEvent
    from innkeeper.library.templates.template import TemplateVersion
    from innkeeper.library.transfer.format import DraftFile, Parsed


_CONTENT = ("use_case", "content_mode", "target_model", "enhancer_model", "job_type", "provider", "syntax")


@click.command(epilog=examples('innkeeper admin template new hello --use-case chat --text "Hello {{name}}."'))
@click.argument("name", required=False)
@click.option(
    "--file", "path", type=click.Path(path_type=Path), help="The whole template, as JSON or YAML (-: standard input)."
)
@click.option("--text", help="The text of the template.")
@click.option("--text-from", type=click.Path(path_type=Path), help="A file with the text (-: standard input).")
@click.option("--use-case", help="What it is for.")
@click.option("--content-mode", type=click.Choice(["sfw", "nsfw"]), help="Its tier (default: sfw).")
@click.option("--target", "target_model", help="The model that the text is for (default: any).")
@click.option("--enhancer", "enhancer_model", help="The model that writes the text (default: any).")
@click.option("--job-type", help="chat, image or video (default: any).")
@click.option("--provider", help="The provider of the enhancer.")
@click.option(
    "--syntax", type=click.Choice(["mustache", "liquid"]), help="The syntax of variables (default: mustache)."
)
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="NAME[?][=DEFAULT]",
    help="A variable; a trailing ? makes it optional.",
)
@click.option("--token-limit", type=click.IntRange(min=1), help="Token budget of the prompt it produces.")
@click.option("--max-output-tokens", type=click.IntRange(min=1), help="Maximum tokens that the enhancer may write.")
@click.option("--description", default="", help="A description for people.")
@click.option("--note", default="", help="Why it is created.")
@who_option
@database_options
def new(name: str | None, url: str | None, *, path: Path | None, who: str, as_json: bool, **options: Any) -> None:
    """Make the template NAME with version 1. It answers nothing until it is published."""
    file = _drafted(name, path, options)
    with opened(url) as library:
        version = library.authoring.create(file.draft(author=who))
    _tell_version(version, as_json=as_json)


def _drafted(name: str | None, path: Path | None, options: dict[str, Any]) -> DraftFile:
    """Return the draft of a file or of options, which override the file."""
    import msgspec

    from innkeeper.library.transfer.format import DraftFile, parse_draft

    text, text_from = options["text"], options["text_from"]
    if text is not None and text_from is not None:
        raise click.UsageError("give the text with --text or with --text-from, not with both")
    fields = {key: options[key] for key in (*_CONTENT, "token_limit", "max_output_tokens") if options[key] is not None}
    fields |= {key: options[key] for key in ("description", "note") if options[key]}
    if text is not None or text_from is not None:
        fields["system_prompt"] = text if text is not None else read_text(text_from)
    if options["variables"]:
        fields["variables"] = tuple(map(_variable, options["variables"]))
    if name:
        fields["name"] = name
    if path is not None:
        file = msgspec.structs.replace(parse_draft(read_bytes(path), asset=_name_of(path)), **fields)
    elif "use_case" in fields and "system_prompt" in fields:
        file = DraftFile(**fields)
    else:
        raise click.UsageError("give the template with --file, or --use-case and --text or --text-from")
    if not file.name:
        raise click.UsageError("the template needs a name")
    return file


def _variable(word: str) -> Any:
    from innkeeper.library.templates.template import Variable

    name, sign, default = word.partition("=")
    required = not name.endswith("?") and not sign
    return Variable(name=name.removesuffix("?"), required=required, default=default if sign else None)


def _name_of(path: Path) -> str:
    return "<stdin>" if str(path) == STDIO else str(path)


def _tell_version(version: TemplateVersion, *, as_json: bool) -> None:
    from innkeeper.library.prepare.request import template_facts

    if as_json:
        print_json(template_facts(version))
    else:
        click.echo(
            f"{version.name}: version {version.version} ({version.content_sha256[:16]}…); publish it to have it answer."
        )


# ------------------------------------------------------------------------------------------------------------------ editing


@click.command(epilog=examples("innkeeper admin template edit hello"))
@click.argument("name")
@click.option(
    "--file", "path", type=click.Path(path_type=Path), help="Read the new version from this file (-: standard input)."
)
@click.option("--from", "start", type=int, help="Start from this version (default: the latest).")
@click.option("--note", help="Why it is changed.")
@who_option
@database_options
def edit(
    name: str, url: str | None, *, path: Path | None, start: int | None, note: str | None, who: str, as_json: bool
) -> None:
    """Create a new version of the template NAME, in $EDITOR or from a file; none if nothing changed.

    A version is never overwritten. Who added one meanwhile is not overruled: that is an error, and nothing is saved.
    """
    import msgspec

    from innkeeper.library.transfer.format import DraftFile, parse_draft

    with opened(url) as library:
        latest = library.authoring.get(name)
        first = latest if start is None else library.authoring.get(name, version=start)
        draft_file = None if path is None else parse_draft(read_bytes(path), asset=_name_of(path))
        file = draft_file or _edited(DraftFile.of(first))
        file = msgspec.structs.replace(
            file, name=_same_name(name, file.name), **({} if note is None else {"note": note})
        )
        draft = file.draft(author=who)
        if draft.numbered(latest.template_id, latest.version, "").content_sha256 == latest.content_sha256:
            _tell_same(latest, as_json=as_json)
            return
        added = library.authoring.add_version(draft, base=latest.version)
    _tell_version(added, as_json=as_json)


def _same_name(name: str, stored_name: str) -> str:
    from innkeeper.prompt.errors import UsageError

    if stored_name not in {"", name}:
        raise UsageError(f"the file is of the template {stored_name!r}, not {name!r}", hint="a template keeps its name")
    return name


def _edited(file: DraftFile) -> DraftFile:
    """Return the file after editing; if it cannot be read, the edited text is saved."""
    from innkeeper.library.transfer.format import draft_text, parse_draft
    from innkeeper.prompt.errors import InnkeeperError

    text = draft_text(file).decode()
    edited = click.edit(text, extension=".yaml", require_save=False) or text
    try:
        return parse_draft(edited.encode(), asset="what was edited", form="yaml")
    except InnkeeperError:
        click.echo(edited, err=True)  # so that the work of an hour is not lost to a typing error
        raise


def _tell_same(latest: TemplateVersion, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": latest.name, "version": latest.version, "changed": False})
    else:
        click.echo(f"{latest.name}: nothing changed, version {latest.version} stays the latest.")


# --------------------------------------------------------------------------------------------------------------- publishing


@click.command(epilog=examples("innkeeper admin template publish hello --dry-run"))
@click.argument("name")
@click.option("--version", type=int, help="The version (default: the latest).")
@click.option("--label", "held", default="production", show_default=True, help="The label to set.")
@click.option("--why", default="", help="The reason, for the history.")
@click.option("--dry-run", is_flag=True, help="Validate and report what would happen without changing anything.")
@click.option("--force", is_flag=True, help="Publish also what recorded callers of the key would fail with.")
@who_option
@database_options
def publish(
    name: str,
    url: str | None,
    *,
    version: int | None,
    held: str,
    why: str,
    dry_run: bool,
    force: bool,
    who: str,
    as_json: bool,
) -> None:
    """Check a version of the template NAME and move the label to it. Every process answers with it within two seconds.

    It must require no variable that callers of its key do not send, and read each that they have to send.
    """
    with opened(url) as library:
        if dry_run:
            _would_publish(library, name, version, held, force=force, as_json=as_json)
            return
        moved = library.authoring.publish(name, version, label=held, who=who, why=why, force=force)
        problems = library.authoring.validate(library.authoring.get(name, label=held), held, force=True)
    for problem in problems:
        click.echo(f"{problem.severity.value}: {problem}\n  hint: {problem.hint}", err=True)
    _tell_move(moved, as_json=as_json)


def _would_publish(library: Library, name: str, version: int | None, held: str, *, force: bool, as_json: bool) -> None:
    from innkeeper.library.errors import InvalidTemplateError
    from innkeeper.library.templates.publish import Severity

    candidate = library.authoring.get(name, version=version)
    problems = library.authoring.validate(candidate, held, force=force)
    now = library.authoring.store.labels(name).get(held)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise InvalidTemplateError(
            f"{name} version {candidate.version} may not be published: {errors[0]}", problems=problems
        )
    if as_json:
        print_json({"name": name, "label": held, "from_version": now, "to_version": candidate.version, "dry_run": True})
    else:
        click.echo(f"{name}: {held} would move from {_number(now)} to {candidate.version}; nothing was changed.")


def _number(version: int | None) -> str:
    return "no version" if version is None else f"version {version}"


def _tell_move(moved: LabelEvent, *, as_json: bool) -> None:
    import msgspec

    if as_json:
        print_json(msgspec.to_builtins(moved))
    else:
        after = _number(moved.to_version)
        click.echo(f"{moved.name}: {moved.label} moved from {_number(moved.from_version)} to {after}.")


@click.command(epilog=examples("innkeeper admin template label hello staging 2"))
@click.argument("name")
@click.argument("held", metavar="[LABEL]", required=False)
@click.argument("version", type=int, required=False)
@click.option("--remove", is_flag=True, help="Remove the label.")
@click.option("--why", default="", help="The reason, for the history.")
@who_option
@database_options
def label(
    name: str,
    held: str | None,
    version: int | None,
    url: str | None,
    *,
    remove: bool,
    why: str,
    who: str,
    as_json: bool,
) -> None:
    """Move LABEL of the template NAME to VERSION (checked as by `publish`), take it off, or show all labels and their history."""
    if remove and (held is None or version is not None):
        raise click.UsageError("--remove takes a label, and no version")
    if held is not None and version is None and not remove:
        raise click.UsageError("say which version gets the label, or --remove")
    with opened(url) as library:
        if held is None:
            _show_labels(library, name, as_json=as_json)
            return
        if remove:
            moved = library.authoring.remove_label(name, held, who=who, why=why)
        else:
            moved = library.authoring.publish(name, version, label=held, who=who, why=why)
    _tell_move(moved, as_json=as_json)


def _show_labels(library: Library, name: str, *, as_json: bool) -> None:
    import msgspec

    library.authoring.get(name)
    labels, moves = library.authoring.store.labels(name), library.authoring.store.history(name)
    if as_json:
        print_json({"name": name, "labels": labels, "history": msgspec.to_builtins(moves)})
        return
    print_table(("label", "version"), labels.items())
    click.echo()
    print_table(
        ("label", "from", "to", "when", "by", "why"),
        [(move.label, move.from_version, move.to_version, move.at, move.who, move.why) for move in moves],
    )


@click.command(epilog=examples('innkeeper admin template rollback hello --why "too long"'))
@click.argument("name")
@click.option("--label", "held", default="production", show_default=True, help="The label to move back.")
@click.option("--to", type=int, help="The version to go back to (default: the previous one).")
@click.option("--why", default="", help="The reason, for the history.")
@who_option
@database_options
def rollback(name: str, url: str | None, *, held: str, to: int | None, why: str, who: str, as_json: bool) -> None:
    """Move the label of the template NAME back to the version that held it before."""
    with opened(url) as library:
        moved = library.authoring.rollback(name, label=held, to=to, who=who, why=why)
    _tell_move(moved, as_json=as_json)


# ---------------------------------------------------------------------------------------------------------------- transfers


@click.command("import", epilog=examples("innkeeper admin template import --builtin"))
@click.argument("path", type=click.Path(path_type=Path, allow_dash=True), required=False)
@click.option("--builtin", is_flag=True, help="Import the built-in templates.")
@click.option("--form", type=click.Choice(["json", "yaml"]), help="The format (default: detected).")
@click.option("--dry-run", is_flag=True, help="Report what would happen without changing anything.")
@who_option
@database_options
def import_(
    path: Path | None, url: str | None, *, builtin: bool, form: str | None, dry_run: bool, who: str, as_json: bool
) -> None:
    """Take in the templates of PATH (`-`: the input), all of them or, where something is wrong, none."""
    if (path is None) is not builtin:
        raise click.UsageError("name a file, or say --builtin")
    parsed = _packaged() if path is None else _templates_of(path, form)
    counts = ("templates", "versions", "labels", "unchanged")
    take_in(parsed, url, who=who, dry_run=dry_run, as_json=as_json, counts=counts)


def _templates_of(path: Path, form: str | None) -> Parsed:
    """The templates of a file; what else is in it is left aside."""
    from innkeeper.library.transfer.format import Parsed, Transfer, parse

    parsed = parse(read_bytes(path), asset=_name_of(path), form=form)
    transfer = Transfer(
        format=parsed.transfer.format, schema=parsed.transfer.schema, templates=parsed.transfer.templates
    )
    return Parsed(transfer, parsed.locate)


def _packaged() -> Parsed:
    from innkeeper.library.builtins import packaged_labels, packaged_versions
    from innkeeper.library.transfer.exporting import transferred
    from innkeeper.library.transfer.format import FORMAT, SCHEMA, Parsed, Transfer
    from innkeeper.prompt.errors import Where

    labels: dict[str, dict[str, int]] = {}
    for row in packaged_labels():
        labels.setdefault(row.version.name, {})[row.label] = row.version.version
    templates = [transferred([version], labels.get(version.name, {})) for version in packaged_versions()]
    return Parsed(Transfer(format=FORMAT, schema=SCHEMA, templates=templates), lambda _: Where("built-in templates"))


@click.command(epilog=examples("innkeeper admin template export templates.yaml"))
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), default=STDIO)
@click.argument("names", nargs=-1)
@click.option(
    "--form", type=click.Choice(["json", "yaml"]), help="The format (default: by PATH's extension, else JSON)."
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@database_options
def export(
    path: Path, names: tuple[str, ...], url: str | None, *, form: str | None, force: bool, as_json: bool
) -> None:
    """Write the templates NAMES, or all, with their versions and labels to PATH (`-`: the output)."""
    from innkeeper.library.transfer.exporting import export_library
    from innkeeper.library.transfer.format import Transfer

    with opened(url) as library:
        for name in names:
            library.authoring.get(name)
        transfer = export_library(library.db)
    selected = [each for each in transfer.templates if not names or each.name in names]
    chosen = Transfer(format=transfer.format, schema=transfer.schema, templates=selected)
    write_transfer(path, chosen, form, force=force, as_json=as_json)
