"""Variant ``paper``: Algorithm 1 as published. It is on the raw graph and without a guarantee."""
