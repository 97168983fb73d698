"""``innkeeper library``: the commands that administer the library, in one group."""

from types import MappingProxyType

import click

from innkeeper.cli.app.commands import CommandEntry, LazyGroup, examples

_SECTIONS = MappingProxyType(
    {
        "What is kept": {
            "template": CommandEntry(
                "innkeeper.cli.keep.template:template", "Prompt templates: versions, labels, which answers and why."
            ),
            "model": CommandEntry(
                "innkeeper.cli.keep.catalogue:model", "The catalogue of models that the library answers for."
            ),
            "provider": CommandEntry("innkeeper.cli.keep.catalogue:provider", "The providers of models."),
            "tool": CommandEntry("innkeeper.cli.keep.catalogue:tool", "The tools that models may call."),
            "negative": CommandEntry(
                "innkeeper.cli.keep.catalogue:negative", "Fragments of negative prompts, and what they join to."
            ),
            "worker": CommandEntry("innkeeper.cli.keep.workers:worker", "The workers that execute requests."),
            "vault": CommandEntry("innkeeper.cli.keep.vault:vault", "Secrets, encrypted; no command shows one."),
        },
        "How it is run": {
            "db": CommandEntry("innkeeper.cli.keep.db:db", "The database: schema, backups, imports, questions."),
            "cache": CommandEntry(
                "innkeeper.cli.keep.db:cache", "What requests are answered from, and building it anew."
            ),
            "logs": CommandEntry("innkeeper.cli.keep.db:logs", "The log of calls: times, percentiles."),
            "tier": CommandEntry("innkeeper.cli.keep.tier:tier", "Which audience a text may be served for, and why."),
        },
    }
)


@click.group(
    cls=LazyGroup,
    entries={name: entry for section in _SECTIONS.values() for name, entry in section.items()},
    sections=_SECTIONS,
    epilog=examples(
        "innkeeper library db init", "innkeeper library template list", "innkeeper library vault set openrouter"
    ),
)
def library() -> None:
    """Keep templates, a catalogue of models, secrets and logs in a database, for applications that many people use.

    Nothing of it is needed for `ask` and `chat`: their keys are in `innkeeper keys`, what was said in `innkeeper log`.
    """
