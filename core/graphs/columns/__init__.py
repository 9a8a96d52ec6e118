"""Columnar tables of nodes and edges, their sorted order and its kernels."""
