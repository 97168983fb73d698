"""``innkeeper admin template``: list, show, resolve and render the stored templates."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.app.commands import CommandEntry, LazyGroup, examples, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.keep.library import (
    audience_options,
    ceilings,
    database_options,
    opened,
    print_table,
    read_bytes,
    read_text,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from innkeeper.gate.tier import TierDecision
    from innkeeper.library.library import Library
    from innkeeper.library.prepare.request import PrepareRequest, RenderedAnswer, Resolved
    from innkeeper.library.templates.template import TemplateVersion
    from innkeeper.prompt.errors import InnkeeperError


_CHANGES = "innkeeper.cli.keep.template_changes"


@click.group(
    epilog=examples("innkeeper admin template list", "innkeeper admin template publish hello"),
    cls=LazyGroup,
    entries={
        "new": CommandEntry(f"{_CHANGES}:new", "Create a template with its first version."),
        "edit": CommandEntry(f"{_CHANGES}:edit", "Create a new version, in an editor or from a file."),
        "export": CommandEntry(f"{_CHANGES}:export", "Export templates to a file or standard output."),
        "import": CommandEntry(f"{_CHANGES}:import_", "Import templates from a file, or the built-in ones."),
        "label": CommandEntry(f"{_CHANGES}:label", "Move, remove or show a label."),
        "publish": CommandEntry(f"{_CHANGES}:publish", "Check a version and publish it."),
        "rollback": CommandEntry(f"{_CHANGES}:rollback", "Return to the previously published version."),
    },
)
def template() -> None:
    """Manage versions of prompt templates, publish them, and see which one answers a request and why.

    The database is named by --database, else by $INNKEEPER_DATABASE_URL; the default is a file in Innkeeper's folder.
    """


def key_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the parts of a request's key to a command."""
    for name, text in (
        ("--enhancer-family", "The family of the enhancer, where the catalogue does not know it."),
        ("--enhancer", "The model that writes the text."),
        ("--target-family", "The family of the target, where the catalogue does not know it."),
        ("--target", "The model that the text is for: its key, or a family."),
        ("--job-type", "chat, image or video."),
    ):
        command = click.option(name, help=text)(command)
    return command


# ------------------------------------------------------------------------------------------------------------------ looking


@template.command("list", epilog=examples("innkeeper admin template list --use-case enhancement"))
@click.option("--use-case", help="Only templates for this use case.")
@click.option("--content-mode", help="Only this tier.")
@click.option("--target", "target_model", help="Only templates for this target.")
@click.option("--enhancer", "enhancer_model", help="Only templates for this enhancer.")
@click.option("--job-type", help="Only templates for this job type.")
@click.option("--label", help="Only templates with this label.")
@click.option("--contains", help="Only names that contain this.")
@click.option("--search", help="Only templates with this in their name, description or text.")
@click.option("--limit", type=click.IntRange(min=0), default=100, show_default=True, help="How many; 0 means all.")
@click.option("--after", default="", metavar="NAME", help="Start after this name: the next page.")
@database_options
@paged
def list_(url: str | None, *, limit: int, after: str, as_json: bool, **where: str | None) -> None:
    """List the templates by name, with the version in production, or else the latest."""
    from innkeeper.library.templates.store import TemplateStore

    with opened(url) as library:
        fetched = TemplateStore(library.db).list(limit=limit + 1 if limit else None, after=after, **where)
    templates = fetched[:limit] if limit else fetched
    following = templates[-1].name if len(fetched) > len(templates) else None
    if as_json:
        rows = [{**_facts(one.shown), "description": one.description, "labels": one.labels} for one in templates]
        print_json({"templates": rows, "next": following})
        return
    print_table(
        ("name", "version", "latest", "key", "labels"),
        [
            (
                one.name,
                one.shown.version,
                one.latest_version,
                one.shown.key,
                [f"{k}={v}" for k, v in one.labels.items()],
            )
            for one in templates
        ],
    )
    more = "" if following is None else f"; there are more: --after {shlex.quote(following)}"
    click.echo(f"{len(templates):,} template{'' if len(templates) == 1 else 's'}{more}")


@template.command(epilog=examples("innkeeper admin template show hello --history"))
@click.argument("name")
@click.option("--version", type=int, help="The version (default: the latest).")
@click.option("--label", help="The version with this label.")
@click.option("--history", is_flag=True, help="Show all versions and all label changes.")
@database_options
@paged
def show(name: str, url: str | None, *, version: int | None, label: str | None, history: bool, as_json: bool) -> None:
    """Show a version of the template NAME: its key, budgets, variables and text."""
    import msgspec

    from innkeeper.library.templates.template import write_version

    with opened(url) as library:
        authoring = library.authoring
        chosen = authoring.get(name, version=version, label=label)
        labels = authoring.store.labels(name)
        versions = authoring.store.versions(name) if history else ()
        moves = authoring.store.history(name) if history else ()
    if as_json:
        more = {"versions": [_facts(one) for one in versions], "history": msgspec.to_builtins(moves)} if history else {}
        print_json({**write_version(chosen), "labels": labels, **more})
        return
    _print_version(chosen, labels)
    if history:
        print_table(
            ("version", "made", "by", "why"), [(one.version, one.created_at, one.author, one.note) for one in versions]
        )
        print_table(
            ("label", "from", "to", "when", "by", "why"),
            [(move.label, move.from_version, move.to_version, move.at, move.who, move.why) for move in moves],
        )


def _facts(version: TemplateVersion) -> dict[str, Any]:
    from innkeeper.library.prepare.request import template_facts

    return {**template_facts(version), "created_at": version.created_at, "note": version.note}


def _print_version(version: TemplateVersion, labels: dict[str, int]) -> None:
    held = [f"{label}={number}" for label, number in labels.items()]
    rows: list[tuple[str, Any]] = [
        ("template", f"{version.name} version {version.version}"),
        ("key", version.key),
        ("labels", held),
        ("budget", f"{version.token_limit} tokens; {version.max_output_tokens or version.token_limit} written at most"),
        ("provider", version.provider),
        ("syntax", version.syntax),
        ("parts", [f"{name}@{number}" for name, number in version.partials]),
        ("extends", "" if version.extends is None else "@".join(map(str, version.extends))),
        ("made", f"{version.created_at} {version.author} {version.note}".strip()),
        ("sha256", version.content_sha256),
    ]
    print_table(("", ""), [row for row in rows if row[1]])
    if version.variables:
        print_table(
            ("variable", "type", "required", "default", "at most", "source"),
            [(one.name, one.type, one.required, one.default, one.max_tokens, one.source) for one in version.variables],
        )
    click.echo()
    click.echo(version.system_prompt)


@template.command(epilog=examples("innkeeper admin template diff hello production 2"))
@click.argument("name")
@click.argument("before", required=False)
@click.argument("after", required=False)
@database_options
@paged
def diff(name: str, before: str | None, after: str | None, url: str | None, *, as_json: bool) -> None:
    """Show what changed in the template NAME from BEFORE to AFTER: text, variables, configuration, tokens.

    Both are version numbers or labels. AFTER defaults to the latest, BEFORE to the version in production or else to the one
    before AFTER.
    """
    import msgspec

    from innkeeper.library.templates.publish import diff as compare

    with opened(url) as library:
        later = _named(library, name, after)
        changes = compare(_earlier(library, name, before, later), later, counter=library.counter)
    if as_json:
        print_json({**msgspec.to_builtins(changes), "tokens": changes.tokens, "same": changes.same})
        return
    if changes.same:
        click.echo("no difference")
        return
    for line in changes.text:
        click.echo(line)
    print_table(
        ("", "before", "after"), [(one.path, one.before, one.after) for one in (*changes.variables, *changes.config)]
    )
    click.echo(f"tokens: {changes.tokens_before:,} before, {changes.tokens_after:,} after ({changes.tokens:+,})")


def _named(library: Library, name: str, version: str | None) -> TemplateVersion:
    """Return a version by number or label; the latest by default."""
    number = int(version) if version is not None and version.isdecimal() and len(version) < 10 else None  # noqa: PLR2004
    return library.authoring.get(name, version=number, label=None if number is not None else version)


def _earlier(library: Library, name: str, version: str | None, later: TemplateVersion) -> TemplateVersion:
    if version is not None:
        return _named(library, name, version)
    held = library.authoring.store.labels(name).get("production")
    if held is None or held == later.version:
        held = max(later.version - 1, 1)
    return library.authoring.get(name, version=held)


@template.command(
    epilog=examples("innkeeper admin template check hello", "innkeeper admin template check --file hello.yaml")
)
@click.argument("name", required=False)
@click.option("--file", "path", type=click.Path(path_type=Path), help="Check this file instead (-: standard input).")
@click.option("--version", type=int, help="The version (default: the latest).")
@click.option("--label", default="production", show_default=True, help="The label to publish it under.")
@database_options
def check(
    name: str | None, url: str | None, *, path: Path | None, version: int | None, label: str, as_json: bool
) -> int:
    """Report everything that would prevent publishing the template NAME. Exits with 65 on an error."""
    import msgspec

    from innkeeper.library.templates.publish import Severity

    if (name is None) == (path is None):
        raise click.UsageError("name a template, or a file with --file")
    with opened(url) as library:
        chosen = _of_file(library, path) if path is not None else library.authoring.get(name or "", version=version)
        problems = library.authoring.validate(chosen, label)
    bad = any(problem.severity is Severity.ERROR for problem in problems)
    if as_json:
        print_json(
            {
                "template": chosen.name,
                "version": chosen.version,
                "ok": not bad,
                "problems": msgspec.to_builtins(problems),
            }
        )
        return 65 if bad else 0
    for problem in problems:
        click.echo(f"{problem.severity.value}: {problem}" + (f"\n  hint: {problem.hint}" if problem.hint else ""))
    click.echo("may not be published" if bad else f"{chosen.name} version {chosen.version} may be published")
    return 65 if bad else 0


def _of_file(library: Library, path: Path) -> TemplateVersion:
    from innkeeper.library.transfer.format import parse_draft

    draft = parse_draft(read_bytes(path), asset="<stdin>" if str(path) == "-" else str(path)).draft()
    return draft.numbered("draft", 1, library.db.now())


# --------------------------------------------------------------------------------------------------------------- answering


@template.command(
    epilog=examples("innkeeper admin template resolve --use-case enhancement --job-type image --target sdxl")
)
@click.option("--use-case", required=True, help="What the template is for: enhancement, chat, scene_generation …")
@key_options
@click.option("--label", default="production", show_default=True, help="The label that the template must have.")
@click.option("--no-lower-tier", is_flag=True, help="Do not fall back to a template of a lower tier.")
@click.option("--strict", is_flag=True, help="Fail if only a degraded answer is available.")
@audience_options
@database_options
def resolve(url: str | None, *, strict: bool, age_record: Path | None, as_json: bool, **options: Any) -> None:
    """Show which template answers a request, and every level that was tried."""
    with opened(url) as library:
        request = _request(library, age_record, options)
        answer = library.resolve(request, strict=False)
        refused = _refusal(library, request, answer, strict=strict)
    if as_json and refused is None:
        print_json(answer.to_dict())
    elif not as_json:  # what was tried is shown above all where it led to nothing; the error as JSON holds it, too
        _print_resolution(answer)
    if refused is not None:
        raise refused


def _refusal(library: Library, request: PrepareRequest, answer: Resolved, *, strict: bool) -> InnkeeperError | None:
    from innkeeper.prompt.errors import InnkeeperError

    try:
        if strict:
            library.resolve(request, strict=True)
        answer.resolution.require()
    except InnkeeperError as error:
        return error
    return None


def _print_resolution(answer: Resolved) -> None:
    resolution = answer.resolution
    name = (
        ("none: the text stays as it is" if resolution.level.value == "passthrough" else "none")
        if resolution.template is None
        else f"{resolution.template.name} version {resolution.template.version}"
    )
    print_table(
        ("", ""),
        [
            ("template", name),
            ("level", f"{resolution.level.value} ({resolution.fallback_level})"),
            ("source", resolution.source.value),
            ("execution", resolution.execution.value),
            ("tier", _tier_text(answer.tier)),
            ("degraded", answer.reasons or "no"),
        ],
    )
    click.echo()
    print_table(
        ("level", "looked for", "outcome", "why"),
        [(step.level.value, step.tried or "", step.outcome.value, step.reason) for step in resolution.trace],
    )


def _tier_text(tier: TierDecision) -> str:
    if tier.effective is tier.requested:
        return str(tier.effective.value)
    return f"{tier.effective.value}, where {tier.requested.value} was asked for ({', '.join(tier.reasons)})"


def _request(library: Library, age_record: Path | None, options: dict[str, Any], **more: Any) -> PrepareRequest:
    from innkeeper.library.prepare.request import PrepareRequest

    return PrepareRequest(
        use_case=options["use_case"],
        job_type=options["job_type"],
        target_model=options["target"],
        target_family=options["target_family"],
        enhancer_model=options["enhancer"],
        enhancer_family=options["enhancer_family"],
        label=options["label"],
        lower_tier=not options["no_lower_tier"],
        content_mode=options["content_mode"],
        ceilings=ceilings(library, age_record),
        **more,
    )


@template.command(epilog=examples("innkeeper admin template render hello --value name=Ansel"))
@click.argument("name", required=False)
@click.option("--version", type=int, help="The version of NAME (default: the latest).")
@click.option("--use-case", default="", help="Instead of NAME: the use case to resolve a template for.")
@key_options
@click.option("--label", help="The label of the version of NAME, or of the templates to resolve.")
@click.option("--no-lower-tier", is_flag=True, help="Do not fall back to a template of a lower tier.")
@click.option(
    "--value", "value_options", multiple=True, metavar="NAME=VALUE", help="A value for a variable; repeatable."
)
@click.option(
    "--values",
    "values_path",
    type=click.Path(path_type=Path),
    help="Values in a JSON or YAML file (-: standard input).",
)
@click.option(
    "--text-from",
    type=click.Path(path_type=Path),
    help="The user's text, checked by the gate together with the values.",
)
@click.option("--strict", is_flag=True, help="Fail if only a degraded answer is available.")
@audience_options
@database_options
def render(
    name: str | None,
    url: str | None,
    *,
    version: int | None,
    value_options: tuple[str, ...],
    values_path: Path | None,
    text_from: Path | None,
    strict: bool,
    age_record: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Render the template NAME, or the one that answers a request, with values; print the text, and on stderr the report.

    Values and text are judged before anything is rendered, and the result is judged too. What does not pass is not shown.
    """
    if bool(name) == bool(options["use_case"]):
        raise click.UsageError("name a template, or a request with --use-case")
    values = values_of(value_options, values_path)
    text = "" if text_from is None else read_text(text_from)
    with opened(url) as library:
        label = options["label"]
        request = _request(library, age_record, {**options, "label": label or "production"}, values=values, text=text)
        if name:
            chosen = library.authoring.get(name, version=version, label=label)
            answer = library.render_version(chosen, request)
        else:
            answer = library.render(request, strict=strict)
    if as_json:
        print_json(answer.to_dict())
        return
    click.echo(answer.rendered.text)
    _tell(answer)


def _tell(answer: RenderedAnswer) -> None:
    rendered = answer.rendered
    lines = [f"{rendered.version_id}: {rendered.tokens:,} tokens, tier {_tier_text(answer.tier)}"]
    lines += [
        f"{one.name}: {one.given}, {one.tokens} tokens" + (f", {one.lost_chars} characters cut" if one.cut else "")
        for one in rendered.variables
    ]
    lines += [f"not declared, left aside: {', '.join(rendered.ignored)}"] if rendered.ignored else []
    lines += [f"makeshift: {', '.join(answer.reasons)}"] if answer.degraded else []
    for line in lines:
        click.echo(line, err=True)
