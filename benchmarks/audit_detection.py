"""What the audits of single reads detect: every read by itself, as it is and with half of its noise.

    python -m benchmarks.audit_detection                 every read; some ten minutes on two processors
    python -m benchmarks.audit_detection --only mixing   those whose name has the word

Guarantee: the epsilon of the read's own line of the transcript, at delta .1 where its noise is Gaussian.
Found: the lower bound on epsilon from so many runs on each of two neighbours, 99.9 % sure (Clopper-Pearson;
the event is chosen on one half of the runs and estimated on the other). At half the noise: the same of a copy
that pays the same and adds half the noise. Caught: that bound passes the guarantee. A copy that is not caught
is looked at again, with twice the runs. Noise has no seed: a rerun differs.
"""

from __future__ import annotations

import argparse
import time

from tests.support.audited_reads import every_audit, without_audit
from tests.support.read_audits import ReadAudit, half_noise, measured, promised

LOOKS = 3
"""Looks at a copy that is not caught at first, each with twice the runs."""


def line_of(audit: ReadAudit) -> tuple[str, bool]:
    """Audit the read, and its copy; the line of the table, and whether all is as it should be."""
    guarantee, bound = promised(audit), measured(audit)(audit.runs)
    with half_noise():
        bound_of = measured(audit)
        for look in range(LOOKS):
            runs = audit.runs << look
            halved = bound_of(runs)
            if halved > guarantee:
                break
    caught = halved > guarantee
    cells = (
        audit.name,
        f"{guarantee:.2f}",
        f"{bound:.2f}",
        f"{halved:.2f}",
        "yes" if caught else "no",
        f"{runs:,}",
    )
    return "| " + " | ".join(cells) + " |", caught and bound <= guarantee


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="a word of the reads' names")
    chosen = [each for each in every_audit() if parser.parse_args().only in each.name]
    print("| read | guarantee | found | at half the noise | caught | runs |\n|---|---|---|---|---|---|")
    begun, good = time.monotonic(), 0
    for each in chosen:
        line, fine = line_of(each)
        good += fine
        print(line, flush=True)
    missed = sorted(without_audit(every_audit()))
    print(f"\n{good} of {len(chosen)} audits: within the guarantee, and caught at half the noise.")
    print(
        f"Registered reads without an audit: {', '.join(missed) or 'none'}. {time.monotonic() - begun:.0f} s."
    )


if __name__ == "__main__":
    main()
