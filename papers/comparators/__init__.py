"""Published methods that a paper or a benchmark compares with, one module each."""
