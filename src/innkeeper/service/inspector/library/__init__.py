"""The rooms of the library: templates, what answers a request, tiers, the catalogue, the log, names of secrets."""
