"""Metered sessions: the one way from a graph to a number."""
