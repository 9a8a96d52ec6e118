"""Samplers and mechanisms, each with its proof; none of them reads a graph by itself."""
