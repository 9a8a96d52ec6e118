"""Readers of other projects, who are told the dialect of a list made at random, and what they saw."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import networkit as nk
import networkx as nx
import pandas as pd
import polars as pl

from tests.support.random_lists import RandomList

Rows = list[tuple[str, ...]]
UNIT = "\x1f"  # between fields, where a reader takes one character alone
FORMS = {
    "points": "%d.%m.%Y",
    "slashes": "%m/%d/%Y %H:%M",
    "digits": "%Y%m%d",
    "noon": "%m/%d/%Y %I:%M %p",
}
ORDERS = {"points": "dmy", "slashes": "mdy", "noon": "mdy", "digits": "ymd"}


@dataclass(frozen=True)
class Seen:
    """What a reader saw: rows of cells by the roles of their columns, in order."""

    roles: tuple[str, ...]
    rows: Rows


def text_of(made: RandomList) -> str:
    """Return the text below what stands before the first line."""
    text = made.content.decode(made.kinds["encoding"]).replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix(made.kinds["opening"])


def dressed(made: RandomList, rng: random.Random) -> RandomList:
    """Write the same list with blank lines, spaces around its cells, or a delimiter behind each line."""
    delimiter, text = made.kinds["delimiter"], text_of(made)
    lines = text.split("\n")
    ways = {
        "as it is": lines,
        "blank lines": [part for line in lines for part in ([line, ""] if rng.random() < 0.1 else [line])],
        "spaces behind": [line + "  " for line in lines],
    }
    if '"' not in text and delimiter not in (" ", "\t", "::"):
        ways["spaces between"] = [line.replace(delimiter, f"{delimiter} ") for line in lines]
    if delimiter in (",", ";", "|"):
        ways["delimiter behind"] = [line + delimiter * bool(line) for line in lines]
    way = rng.choices(list(ways), [4, *[1] * (len(ways) - 1)])[0]
    if way == "spaces behind" and '"' in text:
        way = "as it is"  # behind a closing quote nothing stands
    end, encoding = made.kinds["end"].strip("'").encode().decode("unicode_escape"), made.kinds["encoding"]
    content = (made.kinds["opening"] + "\n".join(ways[way])).replace("\n", end).encode(encoding)
    return replace(made, content=content, kinds=made.kinds | {"dressed": way})


def by_pandas(made: RandomList, folder: Path) -> Seen:
    delimiter = made.kinds["delimiter"]
    frame = pd.read_csv(
        io.StringIO("\n".join(line.strip(" ") for line in text_of(made).split("\n"))),
        sep=r"[ \t]+" if delimiter == " " else delimiter,
        header=0 if made.header else None,
        index_col=False,
        dtype=str,
        keep_default_na=False,
        engine="python",
    )
    rows = [tuple(cell.strip() for cell in row) for row in frame.itertuples(index=False, name=None)]
    return Seen(made.roles, rows)


def by_polars(made: RandomList, folder: Path) -> Seen:
    delimiter = {"::": UNIT, " ": UNIT}.get(made.kinds["delimiter"], made.kinds["delimiter"])
    text = text_of(made).replace("::", UNIT) if made.kinds["delimiter"] == "::" else text_of(made)
    if made.kinds["delimiter"] == " ":
        text = "\n".join(UNIT.join(line.split()) for line in text.split("\n"))
    frame = pl.read_csv(
        "\n".join(line for line in text.split("\n") if line.strip()).encode(),
        separator=delimiter,
        has_header=made.header,
        infer_schema=False,
        quote_char=None if delimiter == UNIT else '"',
    )
    return Seen(made.roles, [tuple((cell or "").strip() for cell in row) for row in frame.rows()])


def by_networkx(made: RandomList, folder: Path) -> Seen | None:
    """Read edges and their data, where NetworkX can: ends first, no quotes."""
    text = text_of(made)
    if made.roles[:2] != ("source", "target") or '"' in text:
        return None
    delimiter = None if made.kinds["delimiter"] == " " else made.kinds["delimiter"]
    lines = [line.strip(" ") for line in text.split("\n") if line.strip()][made.header :]
    if made.kinds.get("dressed") == "delimiter behind":
        lines = [line.removesuffix(made.kinds["delimiter"]) for line in lines]
    names = [str(place) for place in range(2, len(made.roles))]
    graph = nx.parse_edgelist(
        lines,
        comments=None,
        delimiter=delimiter,
        create_using=nx.MultiDiGraph,
        nodetype=str.strip,
        data=[(name, str.strip) for name in names],
    )
    rows = [(a, b, *(data[name] for name in names)) for a, b, data in graph.edges(data=True)]
    return Seen(made.roles, rows)


def by_networkit(made: RandomList, folder: Path) -> Seen | None:
    """Read pairs and their weights, where NetworKit can: one character between fields, no quotes, no spaces.

    It keeps one of several edges of a pair, so that lists with such pairs are no matter of its weights.
    """
    text, delimiter = text_of(made), made.kinds["delimiter"]
    if made.roles not in (("source", "target"), ("source", "target", "value")) or '"' in text:
        return None
    weighted = len(made.roles) > 2
    if weighted and (made.kinds["values"] == "comma" or len(set(made.rows)) < len(made.rows)):
        return None
    lines = [line.strip() for line in text.split("\n") if line.strip()][made.header :]
    if delimiter == " ":
        lines = [" ".join(line.split()) for line in lines]
    if len(delimiter) > 1 or (delimiter != " " and any(" " in line for line in lines)):
        return None  # it ends a field at a space
    if made.kinds.get("dressed") == "delimiter behind":
        return None  # it reads a weight there
    (folder / "networkit").write_text("\n".join(lines) + "\n")
    reader = nk.graphio.EdgeListReader(delimiter, 0, "\v", continuous=False, directed=True)
    graph = reader.read(str(folder / "networkit"))
    names = {number: name for name, number in reader.getNodeMap().items()}
    edges = [(names[a], names[b], repr(graph.weight(a, b))) for a, b in graph.iterEdges()]
    return Seen(made.roles, [edge[: len(made.roles)] for edge in edges])


READERS: dict[str, Callable[[RandomList, Path], Seen | None]] = {
    "pandas": by_pandas,
    "Polars": by_polars,
    "NetworkX": by_networkx,
    "NetworKit": by_networkit,
}


def moment(kind: str, cell: str) -> int:
    """Read a time as it was written: an integer as it is, a date as seconds since 1970 in UTC."""
    if kind in FORMS:
        return int(datetime.strptime(cell, FORMS[kind]).replace(tzinfo=UTC).timestamp())
    if kind in ("date", "iso", "spaced", "offset"):
        when = datetime.fromisoformat(cell)
        return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
    return int(float(cell)) if kind == "floats" else int(cell)


def answers(made: RandomList) -> dict[str, str]:
    """Say all that could be asked of the file, as its writer would."""
    called = {"left alone": "-"}
    said = {
        "columns": ",".join(f"{called.get(role, role)}={place}" for place, role in enumerate(made.roles, 1)),
        "header": str(made.header).lower(),
        "delimiter": {"\t": "tab", " ": "space"}.get(made.kinds["delimiter"], made.kinds["delimiter"]),
        "bipartite": str(bool(made.bipartite)).lower(),
        "decimal": "," if made.kinds.get("values") == "comma" else ".",
    }
    if made.kinds.get("times") in ORDERS:
        said["dates"] = ORDERS[made.kinds["times"]]
    return said
