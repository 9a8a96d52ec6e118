"""Graphveil's core. It has the nouns of the service, the privacy kernel, generators and evaluation."""
