"""What the service answers, a model for each thing: built once by the service, read back as it is."""
