"""Rewiring to given triangles and degree products. Degrees and block totals stay."""
