"""SessionStart: how a conversation begins or goes on, from a command line of ``ask`` or ``chat``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.prompt.asset_options import STDIN
from innkeeper.cli.prompt.assets import AssetFiles, request_fields
from innkeeper.cli.settings.model_choice import ModelChoice, choose_model, profile_choice
from innkeeper.cli.settings.settings import SETTINGS, SettingValue, UserSettings
from innkeeper.prompt.errors import UsageError

if TYPE_CHECKING:
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.cli.talk.log import LoggedState
    from innkeeper.content.chat import ChatLog
    from innkeeper.inference.adapters.adapter import ModelRequest
    from innkeeper.inference.client.model_handle import ModelHandle
    from innkeeper.prompt import BuildRequest


BARE: Final = "template"
"""The tavern of a question to a model alone: it adds nothing and expands nothing."""


@dataclass(frozen=True)
class SessionStart:
    """A request with its assets, or (``logged``) a conversation of the log that goes on."""

    settings: UserSettings
    options: Mapping[str, Any]
    kind: str
    assets: AssetFiles | None = None
    logged: LoggedState | None = None

    @classmethod
    def of(cls, files: tuple[str, ...], options: Mapping[str, Any], *, kind: str) -> SessionStart:
        """Read files and options. Raises what `AssetFiles.of` and the log do, and `UsageError`."""
        names = ("card", "persona", "lorebook", "preset", "sillytavern")
        if (
            kind == "ask"
            and not files
            and not any(options[name] for name in (*names, "profile", "resume", "conversation"))
        ):
            from innkeeper.prompt import BuildRequest

            assets = AssetFiles()
            assets.fields["request"] = BuildRequest(tavern=BARE)
            return cls(UserSettings.read(), options, kind, assets=assets)
        if not (options["resume"] or options["conversation"]):
            folder = options["sillytavern"]
            chat = options.get("path") if folder else None
            assets = AssetFiles.of(files, {**options, "chat": chat}, chat_only=True, several=kind == "chat")
            return cls(assets.settings or UserSettings.read(), options, kind, assets=assets)
        assets_too = [*files, *(f"--{name}" for name in names if options[name])]
        if assets_too:
            hint = "leave out -c to begin a new conversation with it"
            raise UsageError(f"a conversation that goes on has its files already: {assets_too[0]}", hint=hint)
        from innkeeper.cli.talk.log import TalkLog

        return cls(UserSettings.read(), options, kind, logged=TalkLog().state(options["conversation"]))

    @cached_property
    def choice(self) -> ModelChoice:
        """The model that answers: that of the options, else the profile's or the conversation's, else that of the settings."""
        model, base_url = self.options["model"], self.options["base_url"]
        if self.assets is not None and self.assets.profile is not None:
            return profile_choice(self.settings, self.assets.profile.profile, model, base_url)
        if self.logged is None or model is not None or base_url is not None:
            return choose_model(self.settings, model, base_url)
        chat = self.logged.chat
        name = chat.model if chat.address else f"local:{chat.model}"
        value = SettingValue("model", name, "option")
        if chat.address is None or "://" in chat.address:
            return ModelChoice(name, chat.address, value)
        return ModelChoice(name, self.settings.address(chat.address), value, chat.address)

    @cached_property
    def request(self) -> BuildRequest:
        """The request that all turns have in common."""
        assets = self.assets or AssetFiles()
        if self.logged is not None:
            assets.fields["request"] = self.logged.base
        return assets.request(request_fields(self.options), self.options["settings"])

    def conversation(self) -> TerminalChat:
        """Open the conversation and its model; close it. Raises what opening a model and a chat do."""
        from innkeeper.cli.talk.answering import open_choice
        from innkeeper.cli.talk.log import TurnRecorder

        talk = self._talk(open_choice(self.choice, self.settings, self.request.context_window))
        if self.settings.get("logging") and not self.options["no_log"]:
            talk.recorder = TurnRecorder(self.kind, None if self.logged is None else self.logged.chat.id)
        return talk

    def other(self, model: str) -> ModelHandle:
        """Open another model, named as by ``--model``. Raises what opening a model does."""
        from innkeeper.cli.talk.answering import open_choice

        address = None if self.choice.is_local else self.choice.address
        named = choose_model(self.settings, model, need_address=address is None)
        choice = named._replace(address=named.address or (None if named.is_local else address))
        return open_choice(choice, self.settings, self.options["context_window"])

    def dry(self) -> TerminalChat:
        """Return the conversation without a model."""
        from innkeeper.cli.talk.answering import Nobody
        from innkeeper.inference.client.model_handle import ModelHandle

        name, window = self.choice.wire_name or self.choice.name, self.request.context_window
        return self._talk(ModelHandle(Nobody(), name, window, route=self.choice.route))

    def _talk(self, handle: ModelHandle) -> TerminalChat:
        from innkeeper.cli.talk.conversation import begin_chat
        from innkeeper.conversation.store import ChatFile

        if self._has_dialect:
            handle = handle.speaking(self.request.dialect)
        if self.logged is not None:
            return self._resumed(handle, self.logged)
        greeting, profile = self.options["greeting"], None if self.assets is None else self.assets.profile
        if greeting is None:
            greeting = 0 if profile is None else profile.profile.greeting_number
        prepared = None if self.assets is None else self.assets.prepared
        if prepared is None:
            path, known = self._chat()
            store = None if path is None else ChatFile(path, report=_say)
            alone = self.kind == "ask"
            return begin_chat(self.request, handle, store=store, greeting=greeting, known=known, alone=alone)
        handle = replace(handle, media=prepared.media)
        known = None if prepared.is_new and self.request.group is None else prepared.chat
        return begin_chat(self.request, handle, greeting=greeting, known=known, notes=prepared.notes)

    @property
    def _has_dialect(self) -> bool:
        """Whether the request says the dialect of what is sent, as a profile and a conversation with its own model do."""
        if self.logged is not None:
            return self.options["model"] is None and self.options["base_url"] is None
        return self.assets is not None and self.assets.profile is not None

    def _chat(self) -> tuple[Path | None, ChatLog | None]:
        """Return the file that keeps the chat, and a chat that goes on but is not kept there. Raises `UsageError` for two."""
        path: Path | None = self.options.get("path")
        named = None if self.assets is None else self.assets.chat_file
        if self.assets is None or named is None:
            return path, None
        if path is not None:
            raise UsageError(f"two chats are given: {named} and {path}", hint="leave one of them out")
        if self.kind == "chat" and named != STDIN:
            return Path(named), None
        return None, self.assets.fields["history"]

    def _resumed(self, handle: ModelHandle, logged: LoggedState) -> TerminalChat:
        """Go on with a conversation of the log: from its file if that exists, else from the chat in the log.

        With ``--chat`` the whole chat is written to that file. Raises `OutputExistsError`.
        """
        from innkeeper.cli.talk.conversation import begin_chat
        from innkeeper.content.files.loading import load_chat
        from innkeeper.conversation.store import ChatFile

        path = Path(logged.chat.path) if logged.chat.path else None
        if path is not None and path.exists():
            talk = begin_chat(self.request, handle, store=ChatFile(path, report=_say))
        else:
            talk = begin_chat(self.request, handle, known=load_chat(logged.messages, lenient=True))
            if path is not None:
                click.echo(f"innkeeper: {path} is gone; the chat goes on by what the log has of it", err=True)
        if self.options.get("path") is not None:
            talk.save(self.options["path"])
        return talk

    # ------------------------------------------------------------------------------------------------------ for --dry-run

    def url(self, request: ModelRequest) -> str | None:
        """Return the address of a request; None for the model in this process."""
        from innkeeper.inference.adapters.registry import ADAPTERS
        from innkeeper.inference.client.endpoint import Endpoint
        from innkeeper.inference.routing.route import OWN

        if self.choice.address is None:
            return None
        route = self.choice.route
        adapter = ADAPTERS[route.adapter]
        # The path of an address of one's own may be set in the shell (INNKEEPER_API_PREFIX), which the endpoint reads.
        prefix = None if route.provider == OWN else adapter.prefix
        endpoint = Endpoint.of({"base_url": route.base_url, "api_prefix": prefix}, None)
        return endpoint.url(adapter.path(route.model, stream=request.stream))

    def key_origin(self) -> str | None:
        """Return the name of the key's origin, without the key."""
        from innkeeper.cli.settings.keys import KeyStore, key_names

        if self.choice.address is None:
            return None
        if self.settings.environ.get("INNKEEPER_API_KEY"):
            return "environment: INNKEEPER_API_KEY"
        stored = {key.name: key.place for key in KeyStore().list()}
        return next((f"{n}: {stored[n]}" for n in key_names(self.choice.address, self.settings) if n in stored), None)

    def values(self) -> Iterator[SettingValue]:
        """Yield the settings of this command line with their origins."""
        limits = {
            f"limits.{name}": value for name, _, value in (text.partition("=") for text in self.options["limits"])
        }
        choice = {"model": self.choice.name, "base_url": self.choice.address}
        for name in SETTINGS:
            profile = None if self.assets is None else self.assets.profile
            if profile is not None and profile.profile.model_name and name in choice and self.options[name] is None:
                yield SettingValue(name, choice[name], "profile", profile.name)
            elif self.logged is not None and name in choice and self.options[name] is None:
                yield SettingValue(name, choice[name], "log", f"conversation {self.logged.chat.id}")
            elif name == "tavern" and self.assets is not None and "request" in self.assets.fields:
                yield SettingValue(name, self.request.tavern, "option")
            else:
                yield self.settings.value(name, limits.get(name, self.options.get(name)))


def _say(sentence: str) -> None:
    click.echo(f"innkeeper: {sentence}", err=True)
