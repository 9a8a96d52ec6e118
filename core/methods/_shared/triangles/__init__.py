"""A graph from noisy degrees, triangles and degree products."""
