"""What PPGSL's paper states, and why our default differs."""

from papers._shared.deviations import Stated

SETTINGS = "section V-A6"
STATED = {
    "against": Stated("surrogate", "Eq. 7"),
    "change": Stated("squared", "Eq. 8"),
    "alpha": Stated(0.01, f"{SETTINGS}: the end of its range, 0 to 0.01"),
    "rounding": Stated("bernoulli", "section III-B5"),
    "protocol": Stated("sitp", "Algorithm 1"),
    "interval": Stated(50, SETTINGS),
    "additions": Stated(1.0, SETTINGS),
    "encoder": Stated("gcn", SETTINGS),
    "head": Stated("cosine", SETTINGS),
    "surrogate_steps": Stated(500, SETTINGS),
    "steps": Stated(500, SETTINGS),
    "learning_rate": Stated(0.5, SETTINGS),
}
PAPER = {"preset": "paper"}
REASONS = {
    "against": "an attacker who knows the defence learns more from the published form's traces",
    "change": "a length over that of the visible graph means the same in graphs of any size",
    "alpha": "another scale, that of the relative change",
    "rounding": "several draws of one release give the weights away",
    "surrogate_steps": "its appendix C counts 1,000 in ten trainings, 100 each",
}
