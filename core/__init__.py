"""Graphveil's core: the nouns of the service, the privacy kernel, generators and evaluation."""
