"""Workers over HTTP: the worker's own service, how it enrols, and the register that it enrols at."""
