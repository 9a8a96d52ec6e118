"""Pairs of nodes as integers, and simple matched graphs. These have given degrees and block totals."""
