"""ModelChoice: a model and its location: by an alias, a provider's name, an address, or in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from innkeeper.cli.settings.settings import PROVIDERS
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.near import did_you_mean

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import SettingValue, UserSettings
    from innkeeper.inference.routing.route import Route
    from innkeeper.taverns.profiles.profile import Profile


LOCAL: Final = "local"
"""The name of the model in this process. ``local:NAME`` is another installed one."""


class ModelChoice(NamedTuple):
    """A model: its ``name`` at the provider, and the provider's ``address``, None for one in this process.

    ``setting`` is the value of the setting ``model``. ``provider`` is the provider's name, if one was named: two of them may
    share an address.
    """

    name: str
    address: str | None
    setting: SettingValue
    provider: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it runs in this process."""
        return self.address is None and self.name.partition(":")[0] == LOCAL

    @property
    def route(self) -> Route:
        """The route to the model: protocol, dialect, address."""
        from innkeeper.inference.routing.route import Route

        return (
            Route.of(self.name, self.name) if self.address is None else Route.at(self.address, self.name, self.provider)
        )

    @property
    def wire_name(self) -> str | None:
        """The name that a prompt is built for; None for the default model in this process."""
        return None if self.is_local else self.name


def choose_model(
    settings: UserSettings, model: str | None = None, base_url: str | None = None, *, need_address: bool = True
) -> ModelChoice:
    """Return the model that options and settings name; with ``need_address`` off only its name, wherever it runs.

    ``model`` may be an alias, ``PROVIDER:NAME`` with the name of a provider, ``local`` or ``local:NAME``.

    Raises:
        UsageError: an address without a model, a model without an address, or two addresses.
        UnknownNameError: an unknown provider.
    """
    setting = settings.value("model", model)
    name = settings.table("aliases.models").get(setting.value, setting.value)
    first, sign, rest = name.partition(":")
    if sign and rest and first in {*PROVIDERS, *settings.table("providers")}:
        if base_url is not None:
            hint = f"leave out --base-url, or the {first}: before the model"
            raise UsageError(f"the model {name!r} and --base-url both say where it is", hint=hint)
        provider = "" if first in settings.table("providers") else first
        return ModelChoice(rest, settings.address(first), setting, provider)
    address_setting = settings.value("base_url", base_url)
    if address_setting.source == "option" and setting.source == "default":
        raise UsageError("a provider needs the name of a model", hint="--model NAME")
    if first == LOCAL and address_setting.source != "option":
        return ModelChoice(name, None, setting)
    if address_setting.value is None:
        if not need_address:
            return ModelChoice(name, None, setting)
        hint = f"--base-url URL, or --model PROVIDER:{name}, or `innkeeper config set base_url URL`"
        hint = f"{hint}; providers: {', '.join(PROVIDERS)}"
        raise UsageError(
            f"where the model {name!r} is, nobody has said", hint=did_you_mean(first, {LOCAL, *PROVIDERS}, hint)
        )
    return ModelChoice(name, settings.address(address_setting.value), setting)


def profile_choice(
    settings: UserSettings,
    profile: Profile,
    model: str | None = None,
    base_url: str | None = None,
    *,
    need_address: bool = True,
) -> ModelChoice:
    """Return the model that answers a profile: that of the options, else its own, where a route is a name or an alias.

    Raises as `choose_model`.
    """
    if model is None and base_url is None:
        base_url = profile.provider if profile.provider is not None and "://" in profile.provider else None
        model = profile.model_name or None
    return choose_model(settings, model, base_url, need_address=need_address)


def named_model(settings: UserSettings, model: str | None = None) -> str | None:
    """Return the model name for counting tokens, from the option, else the settings; None if neither has one."""
    return choose_model(settings, model, need_address=False).wire_name
