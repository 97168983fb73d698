"""JSON as assets keep it: text that is read under limits and edited in place, documents, and typed fields over them."""
