"""What callers send, and problems. What they are answered: the models in :mod:`graphveil.models`."""
