"""Walks of typed graphs over time: how their nodes are numbered, and walk generators without a guarantee."""
