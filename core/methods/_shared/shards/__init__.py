"""Graphs drawn in shards that need not talk to one another."""
