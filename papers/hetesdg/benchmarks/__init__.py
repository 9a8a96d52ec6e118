"""Tables and measurements: ``python -m papers.hetesdg.benchmarks.NAME``."""
