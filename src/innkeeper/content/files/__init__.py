"""Files that assets come in: PNG, CHARX, BYAF, JSON and JSON lines; how they are recognised, opened, read and saved."""
