"""Synthesis methods: one file or folder each, discovered by the registry."""
