"""Models that learn from a graph.

The learned attacks and the tasks share them. Import the inner modules only where they are used: they load
torch, numba or scikit-learn.
"""
