"""Databases for faults of jobs: those of the library's tests."""

from tests.library.conftest import admin, dialect, empty_file, fresh, server, url  # noqa: F401 - fixtures
