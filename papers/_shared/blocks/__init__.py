"""Communities from noisy counts, and graphs with prescribed block totals."""
