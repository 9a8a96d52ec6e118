"""The command line, ``graphveil``."""
