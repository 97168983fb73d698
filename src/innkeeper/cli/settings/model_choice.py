"""ModelChoice: which model is meant, and where it is: by an alias, a provider's name, an address, or in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.cli.settings.settings import PROVIDERS
from innkeeper.prompt.errors import UsageError

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import SettingValue, UserSettings
    from innkeeper.inference.routing.route import Route


LOCAL: Final = "local"
"""The model that means: the one in this process. ``local:NAME`` is another one that is installed."""


class ModelChoice(NamedTuple):
    """A model: its ``name`` as who answers knows it, and the ``address`` of its provider, None for one in this process.

    ``said`` is the value of the setting that it comes from. ``provider`` is a provider's name, where one was given: two of them
    may have one address.
    """

    name: str
    address: str | None
    said: SettingValue
    provider: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it runs in this process."""
        return self.address is None and self.name.partition(":")[0] == LOCAL

    @property
    def route(self) -> Route:
        """How it is asked: the protocol, the dialect, the address."""
        from innkeeper.inference.routing.route import Route

        return (
            Route.of(self.name, self.name) if self.address is None else Route.at(self.address, self.name, self.provider)
        )

    @property
    def wire_name(self) -> str | None:
        """The name that a prompt is built for; None where the model in this process names itself."""
        return None if self.is_local else self.name


def choose_model(
    settings: UserSettings, model: str | None = None, base_url: str | None = None, *, wanted: bool = True
) -> ModelChoice:
    """The model that options and settings name; with ``wanted`` off, its name alone, wherever it is.

    ``model`` may be an alias, ``PROVIDER:NAME`` with the name of a provider, ``local`` or ``local:NAME``.

    Raises:
        UsageError: an address without a model, a model without an address, or two addresses.
        UnknownNameError: a provider that nobody has named.
    """
    said = settings.value("model", model)
    name = settings.table("aliases.models").get(said.value, said.value)
    first, sign, rest = name.partition(":")
    if sign and rest and first in {*PROVIDERS, *settings.table("providers")}:
        if base_url is not None:
            hint = f"leave out --base-url, or the {first}: before the model"
            raise UsageError(f"the model {name!r} and --base-url both say where it is", hint=hint)
        provider = "" if first in settings.table("providers") else first
        return ModelChoice(rest, settings.address(first), said, provider)
    place = settings.value("base_url", base_url)
    if place.source == "option" and said.source == "default":
        raise UsageError("a provider needs the name of a model", hint="--model NAME")
    if first == LOCAL and place.source != "option":
        return ModelChoice(name, None, said)
    if place.value is None:
        if not wanted:
            return ModelChoice(name, None, said)
        hint = f"--base-url URL, or --model PROVIDER:{name}, or `innkeeper config set base_url URL`"
        raise UsageError(
            f"where the model {name!r} is, nobody has said", hint=f"{hint}; providers: {', '.join(PROVIDERS)}"
        )
    return ModelChoice(name, settings.address(place.value), said)


def named_model(settings: UserSettings, said: str | None = None) -> str | None:
    """The name that tokens are counted for, of what is said, else of what is settled; None where neither names one."""
    return choose_model(settings, said, wanted=False).wire_name
