"""What PSGraph's paper states, and why our default differs."""

from papers._shared.deviations import Stated

STATED = {
    "preset": Stated("paper", "Algorithms 1 to 4"),
    "count_cap": Stated(0.01, "section 4, overall process"),
    "threshold_factor": Stated(1.0, "section 5, experimental settings"),
    "reuse_partition": Stated(True, "Algorithm 1"),
    "combine": Stated(True, "Algorithm 2"),
    "post_process": Stated(True, "Algorithm 3"),
}
PAPER = {"preset": "paper"}
REASONS = {
    "preset": "labels from one noisy pass, a law of degrees and matched ends measured closer to the original",
    "count_cap": "the number of edges also decides when to partition anew; more of it measured better",
}
