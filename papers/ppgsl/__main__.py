"""PPGSL's experiment, as ``python -m papers.ppgsl``; ``--help`` says what it takes."""

import runpy

if __name__ == "__main__":  # a worker loads every module before it forks
    runpy.run_module("papers.ppgsl.benchmarks.reproduce", run_name="__main__", alter_sys=True)
