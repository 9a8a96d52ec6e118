"""How lists made at random are read: right, asked, refused, or wrong without a word.

    python -m benchmarks.reading --files 1000 --seed 31

Each file is uploaded without options or schema. Right: every column has its role, the header is told, and
nodes and edges are as many as were written. Asked: an answer is wanted first, or a warning names what else
it could be. With ``--shuffled`` columns stand in any order, under unknown names or none.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from core.errors import IngestRejected
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.reading.model import Role
from core.graphs.uploads.files import IngestReport, UploadedFile
from tests.support.random_lists import RandomList, random_list

RIGHT, ASKED, RIGHTLY, REFUSED, WRONG = "right", "asked", "asked, default right", "refused", "wrong, silently"


def outcome(made: RandomList, folder: Path) -> tuple[str, str]:
    """Name what becomes of the file, and say what is wrong."""
    path = folder / "edges"
    path.write_bytes(made.content)
    try:
        report = canonicalise({"edges": UploadedFile(path, "csv")}, None, folder / "out")
    except IngestRejected as refused:
        message = str(refused)
        return (ASKED if "; send " in message else REFUSED), message
    wrong = mistakes(made, report)
    asked = bool(report.readings["edges"].questions)
    if asked:
        return (ASKED if wrong else RIGHTLY), wrong
    return (WRONG if wrong else RIGHT), wrong


def mistakes(made: RandomList, report: IngestReport) -> str:
    """Say in what a report differs from what was written; empty where in nothing."""
    reading = report.readings["edges"]
    found = [_role(column.role) for column in reading.columns]
    meant = list(made.roles)
    ends = {place for place, role in enumerate(meant) if role in ("source", "target")}
    told = {place for place, role in enumerate(found) if role in ("source", "target")}
    if ends != told:
        return f"ends {found} for {meant}"
    if reading.dialect.header is not made.header:
        return f"header {reading.dialect.header}"
    if [role for role in found if role not in ("source", "target")] != [
        role for role in meant if role not in ("source", "target")
    ]:
        return f"roles {found} for {meant}"
    if made.bipartite is not None and reading.bipartite != made.bipartite:
        return f"bipartite {reading.bipartite}"
    loops = 0 if reading.bipartite else sum(a == b for a, b in made.rows)
    sides = ({a for a, _ in made.rows}, {b for _, b in made.rows})
    nodes = len(sides[0]) + len(sides[1]) if reading.bipartite else len(sides[0] | sides[1])
    if (report.rows_read, report.loops_dropped, sum(report.nodes.values())) != (len(made.rows), loops, nodes):
        return f"{report.rows_read} rows and {dict(report.nodes)} nodes for {len(made.rows)} and {nodes}"
    return ""


def _role(role: Role) -> str:
    return {Role.ATTRIBUTE: "attribute"}.get(role, str(role))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--show", default="", help="print files whose outcome begins so")
    asked = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    began = time.process_time()
    for number in range(asked.files):
        made = random_list(random.Random(f"{asked.seed}/{number}"), shuffled=asked.shuffled)
        with tempfile.TemporaryDirectory() as folder:
            result, what = outcome(made, Path(folder))
        counts[result, made.kinds["header"]] += 1
        if asked.show and result.startswith(asked.show):
            print(number, result, what[:200], made.kinds, made.content[:90], sep=" | ")
    print(f"seed {asked.seed}, {asked.files} files, {time.process_time() - began:.1f} s of CPU")
    print(f"{'':24}{'known':>8}{'unknown':>8}{'none':>8}{'all':>8}")
    for result in (RIGHT, RIGHTLY, ASKED, REFUSED, WRONG):
        row = [counts[result, style] for style in ("known", "unknown", "none")]
        print(f"{result:24}" + "".join(f"{each:>8}" for each in [*row, sum(row)]))


if __name__ == "__main__":
    main()
