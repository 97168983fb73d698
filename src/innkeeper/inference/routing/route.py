"""Route: a name for one model at one provider, and all that is needed to ask it, except the key.

A key is named, and looked up when the route is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.inference.adapters.providers import PROVIDERS, Provider, provider_at
from innkeeper.inference.local.shared import DEFAULT_MODEL, LOCAL, LOCAL_WINDOW
from innkeeper.prompt.data import EMPTY, FrozenDict, Registry
from innkeeper.prompt.errors import ConfigError, UnknownNameError, Where

if TYPE_CHECKING:
    from innkeeper.taverns.profiles.profile import Profile

OWN: Final = "own"
"""The provider of a route that says an address."""

_ADDRESS: Final = ("http://", "https://")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One route. ``adapter`` and ``dialect`` are names in their registries; ``secret`` is the name of a key, never a key.

    ``options`` are what requests have that do not say otherwise, under neutral names. ``context_window`` is in tokens, None
    where nobody says.
    """

    name: str
    model: str
    adapter: str = "openai-chat"
    dialect: str = "openai-compatible"
    base_url: str = ""
    provider: str = ""
    secret: str | None = None
    options: FrozenDict = EMPTY
    context_window: int | None = None

    @classmethod
    def of(cls, name: str, target: str, addresses: Mapping[str, str] = EMPTY) -> Route:
        """The route that ``PROVIDER:MODEL`` means, or ``local``, or ``local:MODEL``.

        Args:
            name: the route's name.
            target: the provider and its model; of a provider of one's own, its address may stand in its place.
            addresses: further providers, which speak chat completions, by name.

        Raises:
            ConfigError: no provider or no model is named.
            UnknownNameError: there is no such provider.
        """
        provider, model = _split(name, target)
        if provider == LOCAL:
            return cls(name=name, model=model or DEFAULT_MODEL, adapter=LOCAL, provider=LOCAL)
        if provider.startswith(_ADDRESS):
            return cls(name=name, model=model, base_url=provider, provider=OWN, secret=provider)
        known = PROVIDERS.get(provider) if provider not in addresses else None
        if known is None and provider not in addresses:
            raise UnknownNameError("provider", provider, {*PROVIDERS, *addresses, LOCAL})
        row = known or Provider(provider, "openai-chat", "openai-compatible", addresses[provider])
        return cls._to(row, name, model, secret=provider)

    @classmethod
    def at(cls, address: str, model: str, provider: str = "") -> Route:
        """Return the route to a model at an address: by the protocol of ``provider``, else of whose address it is.

        Any other address speaks chat completions.
        """
        known = PROVIDERS[provider] if provider else provider_at(address)
        if known is None:
            return cls(name=model, model=model, base_url=address, provider=OWN)
        return cls._to(known, model, model)

    @classmethod
    def _to(cls, provider: Provider, name: str, model: str, secret: str | None = None) -> Route:
        return cls(
            name=name,
            model=model,
            adapter=provider.adapter,
            dialect=provider.dialect,
            base_url=provider.base_url,
            provider=provider.name,
            secret=secret,
        )

    @property
    def is_local(self) -> bool:
        """Whether the model is on this machine, in a process of ours."""
        return self.provider == LOCAL

    @property
    def window(self) -> int | None:
        """The window that the route says, or that a model on this machine is loaded for; None where the model's own counts."""
        return LOCAL_WINDOW if self.context_window is None and self.is_local else self.context_window

    def turn_fields(self, dialect: str | None = None) -> dict[str, Any]:
        """Return the fields of a `TurnInput` that this route answers: model, dialect (a profile may name another), window."""
        return {
            "model": self.model,
            "dialect": dialect or self.dialect,
            "context_window": self.window,
            "defaults": self.options,
        }


def _split(name: str, target: str) -> tuple[str, str]:
    scheme, sign, rest = target.partition("://")
    if sign:  # the model stands behind the last colon that is no port's
        address, colon, model = rest.rpartition(":")
        provider = f"{scheme}://{address}" if colon else ""
    else:
        provider, _, model = target.partition(":")
    if not provider or not (model or provider == LOCAL):
        hint = "write it like NAME=openrouter:MODEL, NAME=http://127.0.0.1:8080:MODEL or NAME=local"
        raise ConfigError(f"the route {name!r} names no provider and model: {target!r:.80}", hint=hint)
    return provider, model


class Routes(Registry[Route]):
    """An immutable registry of routes by name."""

    __slots__ = ()

    WHAT = "model"

    @classmethod
    def read(
        cls, lines: tuple[str, ...] = (), aliases: Mapping[str, str] = EMPTY, addresses: Mapping[str, str] = EMPTY
    ) -> Routes:
        """The routes of a configuration, ``local`` among them.

        Args:
            lines: routes as ``NAME=PROVIDER:MODEL``, which win over aliases.
            aliases: names and what they mean; those that name no provider are no routes.
            addresses: providers of one's own by name.

        Raises:
            ConfigError: what is said is no route.
            UnknownNameError: what is said names a provider that there is not.
        """
        meant = {}
        for name, target in aliases.items():
            provider, sign, _ = target.partition(":")
            if provider == LOCAL or (sign and provider in {*PROVIDERS, *addresses}):
                meant[name] = target
        for text in lines:
            name, sign, target = text.partition("=")
            if not sign or not name.strip():
                raise ConfigError(f"{text!r:.80} is no route", hint="write it like NAME=PROVIDER:MODEL")
            meant[name.strip()] = target.strip()
        return cls(Route.of(LOCAL, LOCAL), *(Route.of(name, target, addresses) for name, target in meant.items()))

    def of_profile(self, profile: Profile, addresses: Mapping[str, str] = EMPTY, default: str = LOCAL) -> Route:
        """Return the route of a profile, ``default`` where it names nobody. Raises `UnknownNameError`, `ConfigError`."""
        target = ":".join(part for part in (profile.provider, profile.model) if part) or profile.route or default
        if target in self:
            return self[target]
        if profile.route is not None:
            raise UnknownNameError("route", profile.route, self, where=Where(asset=profile.name, path="route"))
        if profile.provider is None and ":" not in target:
            target = f"{LOCAL}:{target}"
        return Route.of(target, target, addresses)
