"""Consistent whole numbers from noisy ones, and fitted degrees."""
