"""Invariants across ledger, jobs, datasets and streams. They hold at every moment; each promise is one small
class."""
