"""The service as a Python object: calls, retries, waiting, downloads that are checked."""
