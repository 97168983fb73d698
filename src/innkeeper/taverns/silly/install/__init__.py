"""A SillyTavern install's folder: its selected assets, and the request that SillyTavern would send next."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.taverns.silly.install.contents import Contents as Contents
    from innkeeper.taverns.silly.install.files import UserFolder as UserFolder
    from innkeeper.taverns.silly.install.files import user_folder as user_folder
    from innkeeper.taverns.silly.install.install import Install as Install
    from innkeeper.taverns.silly.install.install import InstalledRequest as InstalledRequest
    from innkeeper.taverns.silly.install.names import AmbiguousNameError as AmbiguousNameError

_HOMES: Final = {
    "contents": ("Contents",),
    "files": ("UserFolder", "user_folder"),
    "install": ("Install", "InstalledRequest"),
    "names": ("AmbiguousNameError",),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
