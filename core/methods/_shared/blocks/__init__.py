"""Communities out of noisy counts, and graphs with prescribed totals in and between them."""
