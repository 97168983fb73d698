"""The table of all commands: those of every day first, the operators' under ``admin``, the documents' functions under ``fn``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from innkeeper.cli.app.commands import CommandEntry

Sections = Mapping[str, Mapping[str, CommandEntry]]


def _entry(target: str, text: str) -> CommandEntry:
    return CommandEntry(f"innkeeper.cli.{target}", text)


SECTIONS: Final[Sections] = MappingProxyType(
    {
        # heading: name: _entry("room.module:name", "What it does, in a line."), in the order of need.
        "Every day": {
            "ask": _entry("talk.commands:ask", "Ask a character, or a model, one question."),
            "chat": _entry("talk.commands:chat", "Chat with a card, or with several."),
            "build": _entry("prompt.build:build", "Build a prompt and explain it."),
            "inspect": _entry("app.inspect:inspect", "View and edit a prompt live in the browser."),
            "why": _entry("talk.log_commands:why", "Explain the prompt behind a logged message."),
            "log": _entry("talk.log_commands:log", "Read and search the conversation log."),
            "card": _entry("prompt.card:card", "Show, check, convert and compare cards."),
            "lint": _entry("prompt.lint:lint", "Find entries and settings that have no effect."),
            "lore": _entry("prompt.lint:lore", "Test lorebooks against a chat."),
            "tokens": _entry("prompt.tokens:tokens", "Count tokens for one model or many."),
        },
        "Set up": {
            "demo": _entry("talk.demo:demo", "Run one full turn with a model on this machine."),
            "config": _entry("settings.config:config", "Set defaults for all commands."),
            "keys": _entry("settings.key_commands:keys", "Store providers' API keys; none is ever shown."),
            "models": _entry("talk.weights:models", "Install models that run on this machine."),
            "info": _entry("app.info:info", "Show where everything is kept, and how large it is."),
            "doctor": _entry("app.doctor:doctor", "Check keys, databases, models and ports."),
            "serve": _entry("app.service:serve", "Run the HTTP service."),
        },
        "More": {
            "admin": _entry("app.groups:admin", "Operate: the library, workers, jobs, routes, limits."),
            "fn": _entry("app.groups:fn", "Call a function of the gateway, such as enhance-prompt."),
            "batch": _entry("prompt.batch:batch", "Build datasets of prompts from rows of requests."),
            "cache": _entry("prompt.cache:cache", "Simulate a provider's cache over a chat's turns."),
            "completion": _entry("settings.completion:completion", "Set up shell completion."),
            "diff": _entry("prompt.diff:diff", "Compare the prompts that two files give."),
            "examples": _entry("talk.demo:examples", "Write the example cards and chats into a folder."),
            "image": _entry("run.jobs:image", "Generate an image."),
            "mcp": _entry("mcp.command:mcp", "Serve card tools to an assistant over MCP."),
            "profile": _entry("prompt.profile:profile", "Bundle a card and its assets under a model name."),
            "regress": _entry("prompt.regress:regress", "Check what new inputs change in a corpus of chats."),
            "timeline": _entry("prompt.timeline:timeline", "Follow entries and tokens through the turns of a chat."),
            "replay": _entry("prompt.build:replay", "Build a recorded prompt again and compare the bytes."),
            "video": _entry("run.jobs:video", "Generate a video."),
        },
    }
)
"""The commands by section, in the order of the help."""

BRIEF: Final = frozenset(SECTIONS["More"]) - {"admin", "fn"}
"""Commands that the first page of the help names without a description."""

ADMIN: Final[Sections] = MappingProxyType(
    {
        "Everything": {
            "backup": _entry("keep.state:backup", "Write all that is kept here into one file."),
            "restore": _entry("keep.state:restore", "Put it back from that file."),
        },
        "Contents of the library": {
            "template": _entry("keep.template:template", "Prompt templates: versions, labels, resolution."),
            "model": _entry("keep.catalogue:model", "The catalogue of models."),
            "provider": _entry("keep.catalogue:provider", "The providers of models."),
            "tool": _entry("keep.catalogue:tool", "The tools that models may call."),
            "negative": _entry("keep.catalogue:negative", "Fragments of negative prompts, and how they are joined."),
            "vault": _entry("keep.vault:vault", "Encrypted secrets; no command shows one."),
            "db": _entry("keep.db:db", "The database: schema, backups, imports, queries."),
        },
        "The service": {
            "worker": _entry("keep.workers:worker", "Run a worker, and manage those of a service."),
            "job": _entry("run.jobs:job", "List, control and run image and video jobs."),
            "route": _entry("route.route:route", "Explain where requests are routed."),
            "tier": _entry("keep.tier:tier", "Which audience a text may be served to, and why."),
            "cache": _entry("keep.db:cache", "The cached catalogue, and rebuilding it."),
            "logs": _entry("keep.db:logs", "The log of calls: times, percentiles."),
            "limits": _entry("app.limits:limits", "List every limit, and how it is set."),
            "call": _entry("app.service:call", "Run one gateway operation, here or in a service."),
            "prompt": _entry("run.prompt:prompt", "Run prompts of model tools."),
            "parity": _entry("prompt.build:parity", "Run the golden cases of the original systems."),
        },
    }
)
"""The commands of ``innkeeper admin``."""

FUNCTIONS: Final[Mapping[str, CommandEntry]] = MappingProxyType(
    {
        "enhance-prompt": _entry("tasks.enhance:enhance_prompt", "Write a prompt for an image or video model."),
        "playground-chat": _entry("tasks.talk:playground_chat", "Take a turn of a conversation."),
        "roleplay-chat": _entry("tasks.talk:roleplay_chat", "Take a turn with a character."),
        "character-suggestions": _entry("tasks.talk:character_suggestions", "Suggest parts of a character."),
        "generate-scene": _entry("tasks.scene:generate_scene", "Generate an image of a moment of a story."),
        "queue-job": _entry("tasks.media:queue_job", "Generate an image or a video."),
        "fal-image": _entry("tasks.media:fal_image", "Generate one at fal."),
        "replicate-image": _entry("tasks.media:replicate_image", "Generate one at Replicate."),
        "get-active-worker-url": _entry("tasks.media:get_active_worker_url", "Print the address of a worker."),
    }
)
"""The commands of ``innkeeper fn``, by the names of the gateway's functions."""

MOVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "library": "admin",
        "library worker": "admin worker",
        "worker": "admin worker run",
        **{
            name: f"admin {name}"
            for name in ("db", "logs", "model", "negative", "provider", "template", "tier", "tool", "vault")
        },
        **{name: f"admin {name}" for name in ("call", "job", "limits", "parity", "route")},
        **{name: f"fn {name}" for name in FUNCTIONS},
        "cache show": "admin cache show",
        "cache rebuild": "admin cache rebuild",
        "config get": "config show",
        "config unset": "config remove",
        "card validate": "card check",
        "batch compare": "batch diff",
        "admin vault unset": "admin vault remove",
        "admin vault doctor": "admin vault check",
        "admin template create": "admin template new",
        "admin template validate": "admin template check",
        "admin tool get": "admin tool show",
        "admin tool delete": "admin tool remove",
        "admin negative add": "admin negative new",
        "admin negative preview": "admin negative render",
        "admin logs show": "admin logs list",
        "admin job work": "admin job run",
    }
)
"""Former spellings of commands, and what replaces them; they go on working, with a note."""
