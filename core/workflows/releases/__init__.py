"""Releases: fitted under a lease, charged, published, compared with their original."""
