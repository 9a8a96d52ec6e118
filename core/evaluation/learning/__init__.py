"""Models that learn from a graph: what the learned attacks and the tasks share.

Import the inner modules only where they are used: they load torch, numba or scikit-learn.
"""
