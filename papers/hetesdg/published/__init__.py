"""Variant ``paper``: Algorithm 1 as published, on the raw graph and without a guarantee."""
