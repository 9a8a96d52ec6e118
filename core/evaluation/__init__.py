"""Statistics of one graph, comparisons of two, and attacks on a published one. Knows no service."""
