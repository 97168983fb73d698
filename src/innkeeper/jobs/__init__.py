"""Jobs: pictures and videos that are made behind a request, durable over restarts. See ``docs/jobs.md``."""
