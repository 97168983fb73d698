"""The database: opening it, its schema and rows, audit events, backups and read-only queries."""
