"""Edge values: their share of epsilon, tables and sampling.

They are given to the edges that a method samples.
"""
