"""Tables and measurements: ``python -m papers.comparators.benchmarks.NAME``."""
