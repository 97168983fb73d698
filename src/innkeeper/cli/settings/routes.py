"""The routes of a service: those of the command line, the configured aliases with a provider, and ``local``.

Each route gets the key that is stored for its address; so do routes of profiles, which are not listed here.
``INNKEEPER_API_KEY`` belongs to one provider: it is sent only if all routes share one address, and only on these routes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from innkeeper.inference.adapters.providers import PROVIDERS
from innkeeper.inference.routing.route import Routes
from innkeeper.prompt.machine import Secret

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.inference.routing.models import RouteModels


_KEY: Final = "INNKEEPER_API_KEY"


def read_routes(settings: UserSettings, options: tuple[str, ...]) -> Routes:
    """Read the routes. Raises `ConfigError` for an invalid route, `UnknownNameError` for an unknown provider."""
    return Routes.read(options, settings.table("aliases.models"), provider_addresses(settings))


def provider_addresses(settings: UserSettings) -> dict[str, str]:
    """Return the addresses of the configured providers by name."""
    return {name: str(address) for name, address in settings.table("providers").items()}


def route_models(settings: UserSettings, routes: Routes) -> RouteModels:
    """Return the models behind these routes, with the stored keys."""
    from innkeeper.inference.routing.models import RouteModels

    return RouteModels(routes, secrets_of(settings, routes), addresses=provider_addresses(settings))


def secrets_of(settings: UserSettings, routes: Routes) -> Callable[[str], Secret | None]:
    """Return the lookup of keys for these routes, by the routes' names for them."""
    addresses = {route.secret: route.base_url for route in routes.values() if route.secret is not None}
    known = {**{name: one.base_url for name, one in PROVIDERS.items()}, **settings.table("providers")}
    key = settings.environ.get(_KEY, "").strip() if len({*addresses.values()}) == 1 else ""

    def secret(name: str) -> Secret | None:
        from innkeeper.cli.settings.keys import stored_key

        if key and name in addresses:
            return Secret(key)
        return stored_key(addresses.get(name) or known.get(name, name), settings)

    return secret
