"""Noisy bits of single pairs: balanced flips, and what they can tell."""
