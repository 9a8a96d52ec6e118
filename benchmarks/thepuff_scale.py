"""CPU seconds of every phase and peak memory of ``thepuff``, by size, with a bounded number of steps.

    python -m benchmarks.thepuff_scale                              both shapes at 1/100, 1/10 and whole
    python -m benchmarks.thepuff_scale --shape taobao --share 1 --set most_batches=100

As :mod:`benchmarks.anchored_scale` measures; variant sound with a utility discriminator, 50 adversarial
batches and 20 DP-SGD steps unless set otherwise, one walk for each edge. Every phase is run to its end.
"""

from __future__ import annotations

from benchmarks.anchored_scale import SHARES, arguments, serve, table

PHASES = {
    "noisy numbers": ("core.privacy.private_graph", "PrivateCell.laplace"),
    "perturbation": ("core.generators.thepuff.fit", "_learned"),
    "static": ("core.generators.thepuff.fit", "_untimed"),
    "snapshots": ("core.generators.thepuff.fit", "Snapshots.of"),
    "embedding": ("core.generators.thepuff.state", "embed"),
    "training": ("core.generators.thepuff.fit", "train"),
    "utility": ("core.generators.thepuff.utility", "trained"),
    "adversarial": ("core.generators.thepuff.training", "_batch"),
    "generation": ("core.generators.thepuff.training", "Trained.generate"),
    "assembly": ("core.generators.thepuff.model", "assembled"),
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
    table("benchmarks.thepuff_scale", shapes, sizes, asked, PHASES)


if __name__ == "__main__":
    main()
