"""Tasks: what a model that learns from the release is worth on the original."""
