"""Noisy bits of single pairs: balanced flips and their evidence."""
