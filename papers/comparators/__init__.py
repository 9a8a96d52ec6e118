"""Published methods for comparison, one module each. A paper or a benchmark compares with them."""
