"""A graph from noisy degrees, a noisy number of triangles and noisy degree products."""
