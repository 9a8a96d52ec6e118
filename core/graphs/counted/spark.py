"""A cluster as an engine, by Spark Connect. Rows stay there; exact counts, digests and synthetic edges leave.

SQL makes edges canonical and counts them; what SQL has no words for are tasks in Python: a part that is
written, a digest. The executors need this package (``graphveil-service[engine]``) for those. ``place`` is a
folder that the executors and this service reach, and nobody else: canonical edges stand in it for as long as
they are counted. A task that is repeated writes the same bytes to the same name.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InvalidInput
from core.graphs.columns.tables import NodeTable
from core.graphs.counted import places
from core.graphs.counted.port import BLOCK_NODES, Found, Sides, Task
from core.graphs.counted.reference import NO_COLUMN, NO_FILE, Reference
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.partable import Part, Slots, cells_of, part_name, slots_of
from core.graphs.stored.fingerprint import begun, ranked
from core.graphs.stored.parted import PART_EDGES
from core.graphs.stored.parted import groups as in_groups
from core.graphs.stored.parts import write_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CALL_TRIES = 3
UNIVERSE, LABELS, KEYS, DEGREES, IDS = "universe", "labels", "keys", "degrees", "ids"
REFUSALS = {"AnalysisException", "IllegalArgumentException", "UnsupportedOperationException"}
"""How the client's errors are called for what an engine will not do, whoever asks again."""
_AS_ICEBERG = "create table {} using iceberg location '{}' as select * from {{rows}}"
_INTEGER = "^(0|[1-9][0-9]*)$"


def connect(address: str) -> SparkSession:
    """Open a session at ``sc://host:port``. InvalidInput where the client is not installed.

    A call is tried again for some seconds; the work is, for longer, by whoever leases it.
    """
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.retries import DefaultPolicy
    except ImportError:
        raise InvalidInput("no Spark Connect client is installed; install graphveil-service[spark]") from None
    session = SparkSession.builder.remote(address).create()
    session.client.set_retry_policies([DefaultPolicy(max_retries=CALL_TRIES)])
    return session


@dataclass(frozen=True)
class Spark:
    """An engine that speaks Spark Connect."""

    session: SparkSession
    place: str
    part_edges: int = PART_EDGES

    def pinned(self, source: Reference) -> str:
        """Digest the content of the files, whatever their names; a table's snapshot is one by its number."""
        if source.table is not None:
            return f"{source.table}@{source.snapshot}"
        files = [str(each) for each in self._read(source).inputFiles()]
        return places.joint(self.each(partial(_digested, files), len(files)))

    def found(self, source: Reference, sides: Sides) -> Found:
        """Look at every row once."""
        strange = "s is null or t is null"
        # min(): whichever task ends first, the same end is named.
        told = self.session.sql(
            f"select count(*) n, count_if(s = t) loops, count_if({strange}) strangers, "
            f"min(case when s is null then a end) a, min(case when s is not null and t is null then b end) b "
            "from {rows}",
            rows=self._indexed(source, sides),
        )
        (row,) = told.toArrow().to_pylist()
        named = sorted((row[end], side) for side, end in enumerate("ab") if row[end] is not None)
        stranger, side = named[0] if named else (None, 0)
        return Found(row["n"], row["loops"], row["strangers"], stranger, side)

    def canonical(
        self,
        schema: GraphSchema,
        nodes: Mapping[str, NodeTable],
        sources: Sequence[Reference],
        rows: Sequence[int],
    ) -> OnSpark:
        """Make the cells canonical, one after the other, of several each in a folder of its own."""
        sizes, cells = {name: table.count for name, table in nodes.items()}, []
        for number, ((relation, _), source) in enumerate(zip(cells_of(schema), sources, strict=True)):
            place = self.place if len(sources) == 1 else places.below(self.place, str(number))
            engine, sides = replace(self, place=place), (nodes[relation.source], nodes[relation.target])
            slots = slots_of(relation, sizes)
            parts = engine._cell(source, sides, slots, rows[number])
            cells.append(OnSparkCell(engine, relation, slots, parts))
        return OnSpark(self, nodes, cells)

    def _cell(self, source: Reference, sides: Sides, slots: Slots, rows: int) -> Sequence[Part]:
        """Group the rows by source, or by the smaller end where a pair is the same both ways; each group is
        sorted, merged and written by one task."""
        buckets = max(1, min(-(-rows // self.part_edges), slots.sources))
        low, high = ("least(s, t)", "greatest(s, t)") if slots.mirrored else ("s", "t")
        # Ranges of the smaller end, so that parts stand in the order of their sources.
        pairs = self.session.sql(
            f"select cast({low} div {-(-slots.sources // buckets)} as int) bucket, {low} low, {high} high "
            f"from {{rows}}{'' if slots.loops else ' where s <> t'}",
            rows=self._indexed(source, sides),
        )
        place = self.place

        def write(table: pa.Table) -> pa.Table:  # by its signature it is known what it is given
            return _write_bucket(place, buckets, slots, table)

        written = pairs.groupBy("bucket").applyInArrow(write, "told string").toArrow()
        parts = {each["name"]: Part(**each) for each in map(json.loads, written["told"].to_pylist())}
        # A range without edges has no group, and so no task: its part is written here, empty.
        for number in range(buckets):
            if (name := part_name(number, buckets)) not in parts:
                parts[name] = _put_part(self.place, name, np.empty(0, dtype=np.uint64), slots)
        return tuple(parts[name] for name in sorted(parts))

    def each(self, task: Task, count: int) -> list[Mapping[str, Any]]:
        """Do the task for every number, each in a task of the cluster's."""
        if not count:
            return []
        # As many partitions as numbers: a task for each.
        numbers = self.session.range(0, count, 1, count)
        told = numbers.mapInArrow(partial(_done, task), "number long, told string").toArrow()
        # Tasks may run twice, and end in any order: each number is looked up once.
        found = dict(zip(told["number"].to_pylist(), told["told"].to_pylist(), strict=True))
        return [json.loads(found[number]) for number in range(count)]

    def table(self, name: str, folder: str, below: str) -> int:
        """Make an Iceberg table of a folder's files, unless there is one; its first snapshot's number.

        Each try has a place of its own, and the catalogue decides whose the table is: it is made once, of all
        rows. What others left is deleted.
        """
        if not self.session.catalog.tableExists(name):
            rows = self.session.read.option("mergeSchema", "true").parquet(folder)
            place = places.below(below, secrets.token_hex(8))
            self.session.sql(_AS_ICEBERG.format(name, place), rows=rows).toArrow()
        told = self.session.sql(f"describe table extended {name}").toArrow().to_pylist()
        (location,) = [each["data_type"] for each in told if each["col_name"] == "Location"]
        return places.only_table(location, below)

    def try_table(self, name: str, place: str) -> None:
        """Make a table and drop it."""
        self.session.sql(f"drop table if exists {name}").toArrow()
        self.session.sql(_AS_ICEBERG.format(name, place), rows=self.session.range(1)).toArrow()
        self.session.sql(f"drop table {name}").toArrow()

    def stop(self) -> None:
        """Stop whatever runs for this session. Nothing does where the engine is away."""
        # Not tried again: an engine that is away must not keep whoever gives it up.
        self.session.client.set_retry_policies([])
        with suppress(Exception):
            self.session.interruptAll()
        self.session.stop()

    def _read(self, source: Reference) -> DataFrame:
        if source.table is not None:  # its name and its number were checked
            return self.session.sql(f"select * from {source.table} version as of {source.snapshot}")
        assert source.folder is not None  # one of both is named
        if "*" not in source.folder:
            return self.session.read.parquet(source.folder)
        if not (files := places.listed(source.folder)):
            raise InvalidInput(NO_FILE)
        return self.session.read.parquet(*files)

    def _indexed(self, source: Reference, sides: Sides) -> DataFrame:
        """Rows of both ends as they were read (``a``, ``b``) and as nodes (``s``, ``t``), null for none."""
        read = self._read(source)
        if missing := {source.source, source.target} - set(read.columns):
            raise InvalidInput(NO_COLUMN.format(min(missing)))
        # No name of a column has a backquote (reference.Column), which could end its quotation.
        asked = f"cast(`{source.source}` as string) a, cast(`{source.target}` as string) b"
        frames: dict[str, Any] = {"named": self.session.sql(f"select {asked} from {{read}}", read=read)}
        index, joins = [], ""
        for end, name, nodes in zip("ab", "st", sides, strict=True):
            # Decimal, without a sign or leading zeros, as ids that are integers are read elsewhere.
            if nodes.ids is None:
                index.append(
                    f"case when {end} rlike '{_INTEGER}' and try_cast({end} as bigint) < {nodes.count} "
                    f"then try_cast({end} as bigint) end {name}"
                )
                continue
            table = f"{UNIVERSE}_{0 if nodes is sides[0] else 1}"
            if table not in frames:
                place = places.below(self.place, table)
                content = {"id": nodes.id_array(), "node": np.arange(nodes.count)}
                places.put_table(content, places.below(place, "nodes.parquet"))
                frames[table] = self.session.read.parquet(place)
            index.append(f"of_{name}.node {name}")
            joins += f" left join {{{table}}} of_{name} on {end} = of_{name}.id"
        return self.session.sql(f"select a, b, {', '.join(index)} from {{named}}{joins}", **frames)


@dataclass(frozen=True)
class OnSpark:
    """Canonical edges that stand in parts in the engine's place."""

    engine: Spark
    nodes: Mapping[str, NodeTable]
    cells: Sequence[OnSparkCell]

    def fingerprint(self, key: bytes) -> str:
        """Sort the pairs of ranks in ranges, a task each; one task digests them in their order."""
        joined = {name: np.zeros(table.count, dtype=bool) for name, table in self.nodes.items()}
        for cell in self.cells:
            ends = (cell.relation.source, cell.relation.target)
            for kind, side in zip(ends, ("source", "target"), strict=True):
                joined[kind] |= (
                    np.concatenate(list(cell.degrees("both" if cell.slots.mirrored else side))) > 0
                )
        ids, ranks = ranked(self.nodes, joined, {})
        place, read = self.engine.place, self.engine.session.read
        places.put_table({"id": ids}, places.below(place, f"{IDS}/ids.parquet"))
        of_type = {}
        for number, (name, found) in enumerate(joined.items()):
            of_nodes = {"node": np.flatnonzero(found), "rank": ranks[name][found].astype(np.int64)}
            folder = places.below(place, f"{KEYS}-ranks-{number}")
            places.put_table(of_nodes, places.below(folder, "ranks.parquet"))
            of_type[name] = read.parquet(folder)

        def write(table: pa.Table) -> pa.Table:
            return _write_keys(place, table)

        buckets = max(1, sum(len(cell.parts) for cell in self.cells))
        width = max(1, -(-len(ids) // buckets))
        pairs = [
            cell.sql(
                f"select cast(least(x.rank, y.rank) div {width} as int) bucket, least(x.rank, y.rank) low, "
                "greatest(x.rank, y.rank) high from {edges} join {sources} x on source = x.node "
                "join {targets} y on target = y.node",
                sources=of_type[cell.relation.source],
                targets=of_type[cell.relation.target],
            )
            for cell in self.cells
            if cell.files
        ]
        if pairs:
            reduce(lambda one, other: one.union(other), pairs).groupBy("bucket").applyInArrow(
                write, "bucket int"
            ).toArrow()
        (told,) = self.engine.each(partial(_fingerprinted, place, buckets, key), 1)
        return str(told["digest"])


@dataclass(frozen=True)
class OnSparkCell:
    """Those of one cell, in the engine's own place or one below it."""

    engine: Spark
    relation: EdgeType
    slots: Slots
    parts: Sequence[Part]

    def degrees(self, side: str = "both") -> Iterator[np.ndarray]:
        """Count the edges of every node: counted once, and fetched a block at a time."""
        counted = places.below(self.engine.place, f"{DEGREES}-{side}")
        if self.files:
            ends = ("source", "target") if side == "both" else (side,)
            nodes = " union all ".join(f"select {end} node from {{edges}}" for end in ends)
            found = self.sql(f"select node, count(*) n from ({nodes}) group by node")
            found.write.mode("overwrite").parquet(counted)
        nodes_there = self.slots.targets if side == "target" else self.slots.sources
        for first in range(0, nodes_there, BLOCK_NODES):
            size = min(BLOCK_NODES, nodes_there - first)
            degrees = np.zeros(size, dtype=np.int64)
            if self.files:
                block = self.engine.session.read.parquet(counted)
                told = block.filter(f"node >= {first} and node < {first + size}").toArrow()
                degrees[told["node"].to_numpy() - first] = told["n"].to_numpy()
            yield degrees

    def pairs(self, labels: np.ndarray, groups: int) -> np.ndarray:
        """Count the edges between labels: two joins and a group-by."""
        counts = np.zeros((groups, groups), dtype=np.int64)
        if not self.files:
            return counts[np.triu_indices(groups)]
        place = places.below(self.engine.place, LABELS)
        columns = {"node": np.arange(len(labels)), "label": labels}
        places.put_table(columns, places.below(place, "labels.parquet"))
        told = self.sql(
            "select least(x.label, y.label) a, greatest(x.label, y.label) b, count(*) n from {edges} "
            "join {labels} x on source = x.node join {labels} y on target = y.node group by 1, 2",
            labels=self.engine.session.read.parquet(place),
        ).toArrow()
        counts[told["a"].to_numpy(), told["b"].to_numpy()] = told["n"].to_numpy()
        return counts[np.triu_indices(groups)]

    @property
    def files(self) -> list[str]:
        return [places.below(self.engine.place, part.name) for part in self.parts if part.rows]

    def sql(self, query: str, **frames: Any) -> DataFrame:
        """Ask of the edges."""
        edges = self.engine.session.read.parquet(*self.files)
        return self.engine.session.sql(query, edges=edges, **frames)


def _done(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the task for every number of the batches."""
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        told = [json.dumps(dict(task(number))) for number in numbers]
        yield pa.RecordBatch.from_pydict({"number": pa.array(numbers, pa.int64()), "told": told})


def _digested(files: Sequence[str], number: int) -> Mapping[str, Any]:
    return {"sha256": places.digest(files[number])}


def _write_bucket(place: str, buckets: int, slots: Slots, table: pa.Table) -> pa.Table:
    """Write the part of one group of pairs, each once; what is known of it."""
    low, high = (table[name].to_numpy().astype(np.uint64) for name in ("low", "high"))
    name = part_name(table["bucket"][0].as_py(), buckets)
    part = _put_part(place, name, low * np.uint64(slots.targets) + high, slots)
    return pa.table({"told": [json.dumps(asdict(part))]})


def _put_part(place: str, name: str, keys: np.ndarray, slots: Slots) -> Part:
    with tempfile.TemporaryDirectory() as scratch:
        found = in_groups(np.unique(keys), slots.targets)
        part = write_part(found, Path(scratch) / name, slots.most)
        places.put(Path(scratch) / name, places.below(place, name))
    return part


def _write_keys(place: str, table: pa.Table) -> pa.Table:
    """Write the sorted keys of one range of ranks, each once: relations may have a pair in common."""
    low, high = (table[name].to_numpy().astype("<u8") for name in ("low", "high"))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "keys"
        np.unique(low << np.uint64(32) | high).astype("<u8").tofile(path)
        places.put(path, places.below(place, f"{KEYS}/{table['bucket'][0].as_py():05d}"))
    return table.select(["bucket"]).slice(0, 1)


def _fingerprinted(place: str, buckets: int, key: bytes, number: int) -> Mapping[str, Any]:
    """Digest ids and pairs in their order. A few MB are in memory, and the ids."""
    files, path = places.opened(places.below(place, f"{IDS}/ids.parquet"))
    digest = begun(pq.read_table(path, filesystem=files)["id"], key)
    for bucket in range(buckets):
        address = places.below(place, f"{KEYS}/{bucket:05d}")
        # A range without pairs has no file.
        if places.exists(address):
            for chunk in places.chunks(address):
                digest.update(chunk)
    return {"digest": digest.hexdigest()}
