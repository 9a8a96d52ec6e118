"""Noisy numbers made consistent and whole, and degrees fitted to noisy ones."""
