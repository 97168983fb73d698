"""The description of all paths of the service, in OpenAPI 3.1, as ``/openapi.json`` gives it."""
