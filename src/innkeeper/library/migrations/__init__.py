"""The migrations of the library's schema, run by `innkeeper.library.db.schema`."""
