"""What DPGGAN's paper states, and why our published form differs from it by default."""

from papers._shared.deviations import Stated
from papers.dpggan.params import WHOLE

SETTINGS = "section 4"
STATED = {
    "variant": Stated("paper", "Algorithm 1"),
    "most_steps": Stated(WHOLE, "Theorem 1: 54, 5,429 and 542,868 at epsilon .1, 1 and 10"),
    "latent": Stated("prior", "section 3, after Corollary 1.1"),
    "node_rate": Stated(0.01, SETTINGS),
    "noise_scale": Stated(5.0, SETTINGS),
    "node_clip": Stated(5.0, SETTINGS),
    "node_clip_decay": Stated(0.99, SETTINGS),
    "learning_rate": Stated(1e-3, SETTINGS),
    "prior_weight": Stated(0.1, SETTINGS),
    "adversarial": Stated(0.1, SETTINGS),
    "updates": Stated("plain", "Algorithm 1"),
    "equations": Stated("paper", "Eq. 2 to 4"),
    "graph_vector": Stated("sum", "Eq. 6"),
    "reconstruction": Stated("views", "after Eq. 6"),
    "offset": Stated(False, "Eq. 3"),
}
PAPER = {"preset": "paper"}
REASONS = {
    "variant": "the published form has no guarantee",
    "most_steps": "cost",
    "updates": "plain steps of .001 hardly move the networks in so few of them",
    "equations": "a node by itself in its subgraph has no latent vector without a self-loop",
    "graph_vector": "means the same in graphs of any size",
}
