"""How Graphveil is run."""
