"""Databases for tests of the library's rooms: those of the library's own tests."""

from tests.library.conftest import _home, admin, dialect, empty_file, fresh, server, url  # noqa: F401 - fixtures
