"""SharedLibrary: the one library of an application, opened when the first surface needs it, closed with the application."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Unpack

from innkeeper.prompt.errors import UnavailableError
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.library.library import Library
    from innkeeper.library.options import Options


class SharedLibrary:
    """Threads may share it. A library costs a database: a service that nobody asks for what is in it opens none.

    Args:
        settings: whose database it is; the one in Innkeeper's folder where they name none.
        **options: how it is opened.
    """

    def __init__(self, settings: Settings, **options: Unpack[Options]) -> None:
        self._settings, self._options = settings, options
        self._lock = threading.Lock()
        self._library: Library | None = None
        self._closed = False

    def get(self) -> Library:
        """The library. Raises `UnavailableError`: the extra ``library`` is missing, or the application has ended."""
        with self._lock:
            if self._closed:
                raise UnavailableError("the service is about to end")
            if self._library is None:
                from innkeeper.lazy import require

                require("sqlalchemy")
                from innkeeper.library.library import Library

                self._library = Library.open(self._settings.database, **self._options)
            return self._library

    @property
    def is_open(self) -> bool:
        """Whether somebody has needed it."""
        return self._library is not None

    def is_there(self) -> bool:
        """Whether there is a database already, opened or not. Raises `ConfigError` for a URL that is not understood."""
        from innkeeper.library.db.connection import find_target

        path = find_target(self._settings.database).path
        return path is None or path.exists()

    def close(self) -> None:
        """Give it back."""
        with self._lock:
            self._closed = True
            library, self._library = self._library, None
        if library is not None:
            library.close()
