"""Databases for tests of jobs: those of the library's tests."""

from tests.library.conftest import (  # noqa: F401 - fixtures
    _home,
    admin,
    dialect,
    empty_file,
    fresh,
    server,
    url,
)
