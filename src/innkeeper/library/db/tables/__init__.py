"""The tables of the one database, room by room, and the column types that mean the same on SQLite and PostgreSQL."""
