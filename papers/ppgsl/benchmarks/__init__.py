"""Tables and measurements: ``python -m papers.ppgsl.benchmarks.NAME``."""
