"""SessionStart: how a conversation begins or goes on, by the words of a command line, for ``ask`` and ``chat`` alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.prompt.asset_options import STDIN
from innkeeper.cli.prompt.assets import AssetFiles, request_fields
from innkeeper.cli.settings.model_choice import ModelChoice, choose_model
from innkeeper.cli.settings.settings import SETTINGS, SettingValue, UserSettings
from innkeeper.prompt.errors import UsageError

if TYPE_CHECKING:
    from innkeeper.cli.talk.answering import ModelHandle
    from innkeeper.cli.talk.conversation import TerminalChat
    from innkeeper.cli.talk.log import Kept
    from innkeeper.content.chat import Chat
    from innkeeper.inference.adapters.adapter import ModelRequest
    from innkeeper.prompt import BuildRequest
    from innkeeper.taverns.profiles.profile import Profile


@dataclass(frozen=True)
class SessionStart:
    """What a command line asks for: a request with its assets, or a conversation of the log that goes on."""

    settings: UserSettings
    options: Mapping[str, Any]
    kind: str
    assets: AssetFiles | None = None
    kept: Kept | None = None

    @classmethod
    def of(cls, files: tuple[str, ...], options: Mapping[str, Any], *, kind: str) -> SessionStart:
        """The opening of these files and options. Raises what `AssetFiles.of` and the log do, and `UsageError`."""
        if not (options["resume"] or options["conversation"]):
            folder = options["sillytavern"]
            chat = options.get("path") if folder else None
            assets = AssetFiles.of(files, {**options, "chat": chat}, chat_only=True, several=kind == "chat")
            return cls(assets.settings or UserSettings.read(), options, kind, assets=assets)
        given = [
            *files,
            *(f"--{name}" for name in ("card", "persona", "lorebook", "preset", "sillytavern") if options[name]),
        ]
        if given:
            hint = "leave out -c to begin a new conversation with it"
            raise UsageError(f"a conversation that goes on has its files already: {given[0]}", hint=hint)
        from innkeeper.cli.talk.log import TalkLog

        return cls(UserSettings.read(), options, kind, kept=TalkLog().kept(options["conversation"]))

    @cached_property
    def choice(self) -> ModelChoice:
        """The model that answers: what is said, else the profile's or the one that the conversation had, else what is settled."""
        model, base_url = self.options["model"], self.options["base_url"]
        if model is None and base_url is None and self.assets is not None and self.assets.profile is not None:
            model, base_url = answering(self.assets.profile.profile)
        if self.kept is None or model is not None or base_url is not None:
            return choose_model(self.settings, model, base_url)
        chat = self.kept.chat
        name = chat.model if chat.address else f"local:{chat.model}"
        value = SettingValue("model", name, "option")
        if chat.address is None or "://" in chat.address:
            return ModelChoice(name, chat.address, value)
        return ModelChoice(name, self.settings.address(chat.address), value, chat.address)

    @cached_property
    def request(self) -> BuildRequest:
        """The request that all turns have in common."""
        assets = self.assets or AssetFiles()
        if self.kept is not None:
            assets.fields["request"] = self.kept.base
        return assets.request(request_fields(self.options), self.options["settings"])

    def conversation(self) -> TerminalChat:
        """The conversation, with what answers it; close it. Raises what opening a model and a chat do."""
        from innkeeper.cli.talk.answering import open_choice
        from innkeeper.cli.talk.recorder import recorder

        handle = open_choice(self.choice, self.settings, self.request.context_window)
        talk = self._talk(handle)
        chat = None if self.kept is None else self.kept.chat.id
        talk.listener = recorder(self.settings, self.kind, off=self.options["no_log"], chat=chat)
        return talk

    def other(self, model: str) -> ModelHandle:
        """What answers for another model, named as ``--model`` names one. Raises what opening a model does."""
        from innkeeper.cli.talk.answering import open_choice

        place = None if self.choice.is_local else self.choice.address
        named = choose_model(self.settings, model, need_address=place is None)
        choice = named._replace(address=named.address or (None if named.is_local else place))
        return open_choice(choice, self.settings, self.options["context_window"])

    def dry(self) -> TerminalChat:
        """The conversation with nobody to answer it."""
        from innkeeper.cli.talk.answering import ModelHandle, Nobody

        name, window = self.choice.wire_name or self.choice.name, self.request.context_window
        return self._talk(
            ModelHandle(Nobody(), name, window, route=None if self.choice.is_local else self.choice.route)
        )

    def _talk(self, handle: ModelHandle) -> TerminalChat:
        from innkeeper.cli.talk.chat import conversation

        greeting = self._greeting()
        if self.kept is not None:
            return self._gone_on(handle)
        prepared = None if self.assets is None else self.assets.prepared
        if prepared is None:
            path, known = self._begun()
            return conversation(
                self.request, handle, path=path, greeting=greeting, known=known, alone=self.kind == "ask"
            )
        handle = replace(handle, media=prepared.media)
        known = None if prepared.is_new and self.request.group is None else prepared.chat
        return conversation(self.request, handle, greeting=greeting, known=known, notes=prepared.notes)

    def _greeting(self) -> int | None:
        """The greeting that a new chat begins with: the one that is said, else the profile's, else the first."""
        said, profile = self.options["greeting"], None if self.assets is None else self.assets.profile
        return said if said is not None else 0 if profile is None else profile.profile.greeting_number

    def _begun(self) -> tuple[Path | None, Chat | None]:
        """The file that a chat is kept in, and a chat that goes on but is not kept there. Raises `UsageError` for two."""
        path: Path | None = self.options.get("path")
        named = None if self.assets is None else self.assets.chat_file
        if self.assets is None or named is None:
            return path, None
        if path is not None:
            raise UsageError(f"two chats are given: {named} and {path}", hint="leave one of them out")
        kept = self.kind == "chat" and named != STDIN
        return (Path(named), None) if kept else (None, self.assets.fields["history"])

    def _gone_on(self, handle: ModelHandle) -> TerminalChat:
        """A conversation of the log: in its file, where it has one that is still there, else by what the log has of it.

        A file that is named now gets the whole chat. Raises `OutputExistsError`.
        """
        from innkeeper.cli.talk.chat import conversation
        from innkeeper.content.files.loading import load_chat

        kept = Path(self.kept.chat.path) if self.kept is not None and self.kept.chat.path else None
        if kept is not None and kept.exists():
            talk = conversation(self.request, handle, path=kept)
        else:
            known = load_chat(b"" if self.kept is None else self.kept.messages, lenient=True)
            talk = conversation(self.request, handle, known=known)
            if kept is not None:
                click.echo(f"innkeeper: {kept} is gone; the chat goes on by what the log has of it", err=True)
        if self.options.get("path") is not None:
            talk.save(self.options["path"])
        return talk

    # ---------------------------------------------------------------------------------------------------- for the curious

    def url(self, request: ModelRequest) -> str | None:
        """Where a request goes; None for the model in this process."""
        from innkeeper.inference.adapters.registry import ADAPTERS
        from innkeeper.inference.client.endpoint import Endpoint
        from innkeeper.inference.routing.route import OWN

        if self.choice.address is None:
            return None
        route = self.choice.route
        adapter = ADAPTERS[route.adapter]
        # An address of one's own may have its path settled for the shell (INNKEEPER_API_PREFIX), which the endpoint reads.
        prefix = None if route.provider == OWN else adapter.prefix
        endpoint = Endpoint.of({"base_url": route.base_url, "api_prefix": prefix}, None)
        return endpoint.url(adapter.path(route.model, stream=request.stream))

    def key_place(self) -> str | None:
        """Where the key comes from; nothing of the key."""
        from innkeeper.cli.settings.keys import KeyStore, key_names

        if self.choice.address is None:
            return None
        if self.settings.environ.get("INNKEEPER_API_KEY"):
            return "environment: INNKEEPER_API_KEY"
        stored = {key.name: key.place for key in KeyStore().list()}
        return next((f"{n}: {stored[n]}" for n in key_names(self.choice.address, self.settings) if n in stored), None)

    def values(self) -> Iterator[SettingValue]:
        """The settings as this command line has them, with where each comes from."""
        limits = {
            f"limits.{name}": value for name, _, value in (text.partition("=") for text in self.options["limits"])
        }
        choice = {"model": self.choice.name, "base_url": self.choice.address}
        for name in SETTINGS:
            profile = None if self.assets is None else self.assets.profile
            if profile is not None and profile.profile.model_name and name in choice and self.options[name] is None:
                yield SettingValue(name, choice[name], "profile", profile.name)
            elif self.kept is not None and name in choice and self.options[name] is None:
                yield SettingValue(name, choice[name], "log", f"conversation {self.kept.chat.id}")
            else:
                yield self.settings.value(name, limits.get(name, self.options.get(name)))


def answering(profile: Profile) -> tuple[str | None, str | None]:
    """Who answers a profile, as ``--model`` and ``--base-url`` say it: a route is a model of that name or alias."""
    address = profile.provider if profile.provider is not None and "://" in profile.provider else None
    return profile.model_name or None, address
