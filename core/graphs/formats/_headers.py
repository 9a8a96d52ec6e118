"""What a header's names mean, and whether a first line looks like one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.graphs.uploads.batches import Part

# Names of the ends in other tools' files, in pairs: one name of a pair alone means nothing.
_ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("from", "to"),
    ("u", "v"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("fromnodeid", "tonodeid"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id_1", "id_2"),
    ("sender", "receiver"),
    ("sender", "recipient"),
)
_TIMES = ("time", "timestamp", "ts", "datetime", "date", "unix_time", "unixtime")
_IDS = ("id", "node", "node_id", "nodeid")
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_DATE = re.compile(r"\s*\d{4}-\d{2}-\d{2}([T ].*)?")
_DIGIT = re.compile(r"\d")


def known_names(names: Sequence[str], part: Part, wanted: Sequence[str]) -> list[str]:
    """Give the columns their own names: ``from`` is ``source`` where ``to`` stands beside it, in any case.

    A name that is wanted as it stands keeps its meaning, and a synonym of a column that is there has none.
    """
    meant = list(names)
    lowered = [name.lower() for name in names]

    def rename(synonym: str, meaning: str) -> None:
        meant[lowered.index(synonym)] = meaning

    if part == "edges":
        pairs = [
            pair
            for pair in _ENDS
            if all(lowered.count(name) == 1 and names[lowered.index(name)] not in wanted for name in pair)
        ]
        if pairs and not {"source", "target"} & set(names):
            rename(pairs[0][0], "source")
            rename(pairs[0][1], "target")
    for meaning, synonyms in (("time", _TIMES), ("id", _IDS)):
        present = [
            name for name in synonyms if lowered.count(name) == 1 and names[lowered.index(name)] not in wanted
        ]
        if meaning in wanted and meaning not in names and present:
            rename(present[0], meaning)
    return meant


def looks_unlike(first: Sequence[str], rest: Sequence[Sequence[str]], part: Part) -> bool:
    """Tell whether the first record looks like a header above ``rest``: words above a column of numbers or
    dates, or two ends that no other record has.
    """
    for place, value in enumerate(first):
        column = [record[place] for record in rest if place < len(record)]
        if not _measured(value) and column and all(_measured(each) for each in column):
            return True
    if part != "edges" or len(rest) < 2 or any(_DIGIT.search(end) for end in first[:2]):
        return False
    return not set(first[:2]) & {end for record in rest for end in record[:2]}


def _measured(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value) or _DATE.fullmatch(value))
