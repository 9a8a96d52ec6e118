"""Reads of graphs under a unit of privacy, each with its sensitivity."""
