"""What PSGraph's paper states, and why our default differs."""

from papers._shared.deviations import Stated

STATED = {
    "preset": Stated("paper", "Algorithms 1 to 4"),
    "count_cap": Stated(0.01, "section 4.6"),
    "threshold_factor": Stated(1.0, "sections 4.3 and 5.1"),
    "reuse_partition": Stated(True, "Algorithm 1"),
    "combine": Stated(True, "Algorithm 2"),
    "post_process": Stated(True, "Algorithm 3"),
}
PAPER = {"preset": "paper"}
REASONS = {
    "preset": "labels from one noisy pass, a law of degrees and matched ends measured closer to the original",
    "count_cap": "the count also decides when to partition anew, and at 0.01 its noise has scale 100",
}
