"""A relation sampled from degrees and noisy bits.

They are the degrees of both its sides and bits of its slots, step by step.
"""
