"""What privacy losses save over Rényi divergences: noise and epsilon of the same plans, by both accountants.

Public facts only, no data: ``python -m benchmarks.accounting_slack``. The training is one of 300 steps that
keep an edge with probability 1/100; the sums are four Gaussian reads, as ``anchored`` makes; delta is 1e-6.
``kept`` is what the plan of Rényi divergences costs when it is converted by losses.
"""

from __future__ import annotations

from fractions import Fraction

from core.privacy.accounting.accountant import Accountant, cell_nano_epsilon
from core.privacy.accounting.dp_sgd import DpSgd, noise_multiplier
from core.privacy.accounting.events import NANO

DELTA_ATTO = 10**12
PLANS = {"DP-SGD": (Fraction(1, 100), 300), "Gaussian": (Fraction(1), 4)}
EPSILONS = (0.5, 1, 2, 4, 8)


def main() -> None:
    """Prints one row for each plan and epsilon."""
    print("| plan | epsilon | sigma, Rényi | sigma, losses | less noise | kept |")
    print("|---|---|---|---|---|---|")
    for name, (rate, steps) in PLANS.items():
        for epsilon in EPSILONS:
            nano = int(epsilon * NANO)
            wide, narrow = (noise_multiplier(nano, DELTA_ATTO, rate, steps, (), each) for each in Accountant)
            event = DpSgd(rate, wide, steps).event
            kept = cell_nano_epsilon((event,), DELTA_ATTO, Accountant.PRIVACY_LOSS) / NANO
            print(
                f"| {name} | {epsilon:g} | {float(wide):.3f} | {float(narrow):.3f} "
                f"| {100 * (1 - float(narrow / wide)):.0f} % | {kept:.3f} |"
            )


if __name__ == "__main__":
    main()
