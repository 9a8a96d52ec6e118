"""Statistics of one graph, comparisons of two, and attacks. Knows no service."""
