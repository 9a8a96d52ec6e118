"""Rewiring to given triangles and degree products; degrees and block totals stay."""
