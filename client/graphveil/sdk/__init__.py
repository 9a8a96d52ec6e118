"""The service as a Python object. Calls, retries, waiting, downloads that are checked."""
