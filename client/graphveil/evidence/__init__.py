"""Evidence packs: one signed archive of a release, verified on any machine without the service."""
