"""Compiled functions that are kept, and shipped with this code."""
