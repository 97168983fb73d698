"""Tasks over HTTP: the requirement document's functions at ``/functions/v1``, and the same at ``/v1``."""
