"""``innkeeper library``: the commands that administer the library, in one group."""

from types import MappingProxyType

import click

from innkeeper.cli.app.commands import CommandEntry, LazyGroup, examples

_SECTIONS = MappingProxyType(
    {
        "Contents": {
            "template": CommandEntry(
                "innkeeper.cli.keep.template:template", "Prompt templates: versions, labels, resolution."
            ),
            "model": CommandEntry("innkeeper.cli.keep.catalogue:model", "The library's catalogue of models."),
            "provider": CommandEntry("innkeeper.cli.keep.catalogue:provider", "The providers of models."),
            "tool": CommandEntry("innkeeper.cli.keep.catalogue:tool", "The tools that models may call."),
            "negative": CommandEntry(
                "innkeeper.cli.keep.catalogue:negative", "Fragments of negative prompts, and how they are joined."
            ),
            "worker": CommandEntry("innkeeper.cli.keep.workers:worker", "The workers that execute requests."),
            "vault": CommandEntry("innkeeper.cli.keep.vault:vault", "Encrypted secrets; no command shows one."),
        },
        "Administration": {
            "db": CommandEntry("innkeeper.cli.keep.db:db", "The database: schema, backups, imports, queries."),
            "cache": CommandEntry("innkeeper.cli.keep.db:cache", "The cached catalogue, and rebuilding it."),
            "logs": CommandEntry("innkeeper.cli.keep.db:logs", "The log of calls: times, percentiles."),
            "tier": CommandEntry("innkeeper.cli.keep.tier:tier", "Which audience a text may be served to, and why."),
        },
    }
)


@click.group(
    cls=LazyGroup,
    entries={name: entry for section in _SECTIONS.values() for name, entry in section.items()},
    sections=_SECTIONS,
    epilog=examples(
        "innkeeper library db upgrade", "innkeeper library template list", "innkeeper library vault set openrouter"
    ),
)
def library() -> None:
    """Manage templates, a catalogue of models, secrets and logs in a database, for applications with many users.

    `ask` and `chat` do not need it: their keys are in `innkeeper keys`, their messages in `innkeeper log`.
    """
