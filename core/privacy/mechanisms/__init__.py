"""Samplers and mechanisms, each with its proof. None of them reads a graph by itself."""
