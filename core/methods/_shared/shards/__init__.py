"""Graphs sampled in shards that need no communication."""
