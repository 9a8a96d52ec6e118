"""What every trained model of the product shares. It is where it runs, how a run repeats, embeddings of
walks.

Import the inner modules only where they are used: they load torch or numba.
"""
