"""Walks of typed graphs over time: the numbering of their nodes, and graphs made of generated walks."""
