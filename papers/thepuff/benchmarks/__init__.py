"""Tables and measurements: ``python -m papers.thepuff.benchmarks.NAME``."""
