"""CPU seconds of every phase and peak memory of ``thepuff``, by size, with a bounded number of steps.

    python -m papers.thepuff.benchmarks.scale  both shapes at 1/100, 1/10 and whole
    python -m papers.thepuff.benchmarks.scale --shape taobao --share 1 --set most_batches=100

As :mod:`benchmarks.anchored_scale` measures; variant sound with a utility discriminator, 50 adversarial
batches and 20 DP-SGD steps unless set otherwise, one walk for each edge. Every phase is run to its end.
"""

from __future__ import annotations

from benchmarks.anchored_scale import SHARES, arguments, serve, table

PHASES = {
    "noisy numbers": ("core.privacy.session.private_graph", "PrivateCell.laplace"),
    "perturbation": ("papers.thepuff.fit", "_learned"),
    "static": ("papers.thepuff.fit", "_untimed"),
    "snapshots": ("papers.thepuff.fit", "Snapshots.of"),
    "embedding": ("papers.thepuff.state", "embed"),
    "training": ("papers.thepuff.fit", "train"),
    "utility": ("papers.thepuff.utility", "trained"),
    "adversarial": ("papers.thepuff.training", "_batch"),
    "generation": ("papers.thepuff.training", "Trained.generate"),
    "assembly": ("papers.thepuff.model", "assembled"),
}
BOUNDED = {"most_batches": "50", "utility": "true", "utility_steps": "20", "walks_per_edge": "1"}
DELTA_ATTO = 10**12


def main() -> None:
    args = arguments(__doc__.splitlines()[0])
    if args.child:
        serve(args.child, PHASES)
        return
    parameters = BOUNDED | dict(pair.split("=", 1) for pair in args.set)
    asked = {
        "method": "thepuff",
        "parameters": parameters,
        "epsilon": args.epsilon,
        "delta_atto": DELTA_ATTO,
    }
    shapes, sizes = args.shape or ["taobao", "ml-20m"], args.share or list(SHARES)
    table("papers.thepuff.benchmarks.scale", shapes, sizes, asked, PHASES)


if __name__ == "__main__":
    main()
