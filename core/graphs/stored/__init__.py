"""Graphs in files: whole or in parts, with a fingerprint of their content."""
