"""The service's answers, a model for each. Each is built once by the service, read back as it is."""
