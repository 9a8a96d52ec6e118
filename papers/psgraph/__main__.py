"""PSGraph's experiment, as ``python -m papers.psgraph``; ``--help`` says what it takes."""

import runpy

runpy.run_module("papers.psgraph.benchmarks.reproduce", run_name="__main__", alter_sys=True)
