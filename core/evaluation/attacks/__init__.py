"""Attacks on a published graph, run by a curator who holds the original."""
