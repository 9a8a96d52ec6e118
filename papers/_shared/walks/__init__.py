"""Walks of typed graphs over time. How their nodes are numbered, and walk generators without a guarantee."""
