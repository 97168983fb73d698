"""The databases of the library's tests, for chats too."""

from tests.library.conftest import admin, dialect, empty_file, fresh, server  # noqa: F401 - fixtures
