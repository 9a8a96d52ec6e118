"""Synthesis methods. One file or folder each, discovered by the registry."""
