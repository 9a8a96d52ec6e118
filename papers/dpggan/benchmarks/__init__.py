"""Tables and measurements: ``python -m papers.dpggan.benchmarks.NAME``."""
