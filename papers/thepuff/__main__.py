"""THEPUFF's experiment, as ``python -m papers.thepuff``; ``--help`` says what it takes."""

import runpy

if __name__ == "__main__":  # a worker loads every module before it forks
    runpy.run_module("papers.thepuff.benchmarks.reproduce", run_name="__main__", alter_sys=True)
