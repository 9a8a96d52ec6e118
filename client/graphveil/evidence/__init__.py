"""Evidence packs, verified on any machine without the service. Each is one signed archive of a release."""
