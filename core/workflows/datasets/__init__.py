"""Datasets: registered, uploaded, validated, and what their curators declare about them."""
