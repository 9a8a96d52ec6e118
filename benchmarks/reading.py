"""How lists made at random are read: right, asked, refused, or wrong without a word.

    python -m benchmarks.reading --files 1000 --seed 31

Each file is uploaded without options or schema. Right: every column has its role, the header is told, and
nodes and edges are as many as were written. Asked: an answer is wanted first, or a warning names what else
it could be. With ``--shuffled`` columns stand in any order, under unknown names or none. With ``--quick`` the
look decides alone, and the watch over all rows: many more files a minute, nothing is stored.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa

from core.errors import IngestRejected
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.reading.look import Asked, look
from core.graphs.reading.mapping import Mapping
from core.graphs.reading.model import About, Reading, Role
from core.graphs.reading.sorts import Watch, ends_named
from core.graphs.reading.text import in_utf8, text_of
from core.graphs.uploads.files import IngestReport, UploadedFile
from tests.support.random_lists import STYLES, RandomList, random_list

RIGHT, ASKED, RIGHTLY, REFUSED, WRONG = "right", "asked", "asked, default right", "refused", "wrong, silently"


Outcome = tuple[str, str, frozenset[str]]


def outcome(made: RandomList, folder: Path) -> Outcome:
    """Name what becomes of the file, say what is wrong, and what was asked about."""
    path = folder / "edges"
    path.write_bytes(made.content)
    try:
        report = canonicalise({"edges": UploadedFile(path, "csv")}, None, folder / "out")
    except IngestRejected as refused:
        message = str(refused)
        return (ASKED if "; send " in message else REFUSED), message, frozenset()
    reading = report.readings["edges"]
    return _outcome(mistakes(made, reading) or miscounted(made, report), reading)


def quick_outcome(made: RandomList) -> Outcome:
    """Name what the look makes of the file, and the watch over all its rows."""
    text = text_of(made.content, None)
    asked = Asked("edges", "edges", Mapping(), ",", (), (), True, text.encoding, text.line_end)
    looked = look(b"".join(in_utf8([made.content], text)), 1, asked)
    if looked is None:
        return REFUSED, "no records", frozenset()
    reading, about = looked.reading, frozenset[str]()
    if not reading.bipartite_why:
        watch = Watch(ends_named(reading))
        watch.add(
            pa.table(
                {
                    name: list(ids)
                    for name, ids in zip(("source", "target"), zip(*made.rows, strict=True), strict=True)
                }
            )
        )
        about = frozenset({str(About.BIPARTITE)} if watch.doubt() else ())
    return _outcome(mistakes(made, reading), reading, about)


def _outcome(wrong: str, reading: Reading, about: frozenset[str] = frozenset()) -> Outcome:
    about |= {str(question.about) for question in reading.questions}
    if about:
        return (ASKED if wrong else RIGHTLY), wrong, about
    return (WRONG if wrong else RIGHT), wrong, about


def mistakes(made: RandomList, reading: Reading) -> str:
    """Say in what a reading differs from what was written; empty where in nothing."""
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
    return ""


def miscounted(made: RandomList, report: IngestReport) -> str:
    """Say where rows or nodes are not as many as were written."""
    two = report.readings["edges"].bipartite
    loops = 0 if two else sum(a == b for a, b in made.rows)
    sides = ({a for a, _ in made.rows}, {b for _, b in made.rows})
    nodes = len(sides[0]) + len(sides[1]) if two else len(sides[0] | sides[1])
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
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--show", default="", help="print files whose outcome begins so")
    asked = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    questions: Counter[tuple[str, str]] = Counter()
    began = time.process_time()
    for number in range(asked.files):
        made = random_list(random.Random(f"{asked.seed}/{number}"), shuffled=asked.shuffled)
        if asked.quick:
            result, what, about = quick_outcome(made)
        else:
            with tempfile.TemporaryDirectory() as folder:
                result, what, about = outcome(made, Path(folder))
        counts[result, made.kinds["header"]] += 1
        questions.update((each, made.kinds["header"]) for each in about)
        if asked.show and result.startswith(asked.show):
            print(number, result, what[:200], made.kinds, made.content[:90], sep=" | ")
    print(f"seed {asked.seed}, {asked.files} files, {time.process_time() - began:.1f} s of CPU")
    print(f"{'':24}" + "".join(f"{each:>9}" for each in (*STYLES, "all")))
    for results, names in ((counts, (RIGHT, RIGHTLY, ASKED, REFUSED, WRONG)), (questions, tuple(About))):
        for result in names:
            row = [results[str(result), style] for style in STYLES]
            if sum(row) or results is counts:
                print(f"{result:24}" + "".join(f"{each:>9}" for each in [*row, sum(row)]))


if __name__ == "__main__":
    main()
