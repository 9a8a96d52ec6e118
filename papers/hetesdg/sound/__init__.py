"""Variant ``sound``: reads, learning and links.

What it reads within a guarantee, what it learns from that, and links out of it.
"""
