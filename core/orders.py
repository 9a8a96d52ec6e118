"""The Rényi orders that the service knows. They are fixed before any data is read."""

ORDERS: tuple[int | float, ...] = (
    *(1.125, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32),
    *(40, 48, 56, 64, 80, 96, 128, 192, 256, 384, 512, 768, 1024),
)
"""Guarantees are computed, and approximate plans are metered, at these; an account keeps some of them.

What is spent at any other order no meter has compared with its plan, so that no account may count there.
"""
