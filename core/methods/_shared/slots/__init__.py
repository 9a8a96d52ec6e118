"""Randomised response on all slots of a cell, and a chain of swaps that follows it."""
