"""Graphs as other things: tensors, NetworkX, records, pseudonyms, sensitive links."""
