"""A SillyTavern install's folder: what is selected there, and the request for what SillyTavern would send next."""

from innkeeper.taverns.silly.install.files import UserFolder, user_folder
from innkeeper.taverns.silly.install.install import Contents, Install, Prepared
from innkeeper.taverns.silly.install.names import AmbiguousNameError

__all__ = ["AmbiguousNameError", "Contents", "Install", "Prepared", "UserFolder", "user_folder"]
