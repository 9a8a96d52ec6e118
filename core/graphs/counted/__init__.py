"""Counting edges where they lie: the port of few calls, and its two adapters."""
