"""Data as types: read by one thread first, refused in words of JSON, described by schemas."""
