"""Jobs over HTTP: pictures and videos that are made behind a request."""
