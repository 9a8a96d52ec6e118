"""Pairs of nodes as integers, and simple graphs of given degrees and block totals."""
