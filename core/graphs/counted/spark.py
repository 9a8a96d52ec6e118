"""A cluster as an engine, by Spark Connect. Rows stay there; exact counts, digests and synthetic edges leave.

SQL makes edges canonical and counts them; what SQL has no words for are tasks in Python: a part that is
written, a digest. The executors need this package (``graphveil-service[engine]``) for those. ``place`` is a
folder that the executors and this service reach, and nobody else: canonical edges stand in it for as long as
they are counted. A task that is repeated writes the same bytes to the same name.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InvalidInput
from core.graphs.columns.tables import NodeTable
from core.graphs.counted import places
from core.graphs.counted.port import BLOCK_NODES, Found, Task
from core.graphs.counted.reference import NO_COLUMN, NO_FILE, Reference
from core.graphs.schema.partable import Part, part_name
from core.graphs.stored.fingerprint import begun, ranked
from core.graphs.stored.parted import PART_EDGES
from core.graphs.stored.parted import groups as in_groups
from core.graphs.stored.parts import write_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CALL_TRIES = 3
UNIVERSE, LABELS, KEYS, DEGREES, IDS = "universe", "labels", "keys", "degrees", "ids"
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

    def found(self, source: Reference, nodes: NodeTable) -> Found:
        """Look at every row once."""
        strange = "s is null or t is null"
        told = self.session.sql(
            f"select count(*) n, count_if(s = t) loops, count_if({strange}) strangers, "
            f"min(case when s is null then a when t is null then b end) stranger, "
            f"count_if(({strange}) and (a is null or b is null)) empty from {{rows}}",
            rows=self._indexed(source, nodes),
        )
        (row,) = told.toArrow().to_pylist()
        stranger = row["stranger"] if row["strangers"] > row["empty"] else None
        return Found(row["n"], row["loops"], row["strangers"], stranger)

    def canonical(self, source: Reference, nodes: NodeTable, rows: int) -> OnSpark:
        """Group the rows by their smaller end; each group is sorted, merged and written by one task."""
        buckets = max(1, min(-(-rows // self.part_edges), nodes.count))
        width = -(-nodes.count // buckets)
        pairs = self.session.sql(
            f"select cast(least(s, t) div {width} as int) bucket, least(s, t) low, greatest(s, t) high "
            "from {rows} where s <> t",
            rows=self._indexed(source, nodes),
        )
        place, count = self.place, nodes.count

        def write(table: pa.Table) -> pa.Table:  # by its signature it is known what it is given
            return _write_bucket(place, buckets, count, table)

        written = pairs.groupBy("bucket").applyInArrow(write, "told string").toArrow()
        parts = {each["name"]: Part(**each) for each in map(json.loads, written["told"].to_pylist())}
        for number in range(buckets):
            if (name := part_name(number, buckets)) not in parts:
                parts[name] = _put_part(self.place, name, np.empty(0, dtype=np.uint64), nodes.count)
        return OnSpark(self, nodes, tuple(parts[name] for name in sorted(parts)))

    def each(self, task: Task, count: int) -> list[Mapping[str, Any]]:
        """Do the task for every number, each in a task of the cluster's."""
        if not count:
            return []
        numbers = self.session.range(0, count, 1, count)
        told = numbers.mapInArrow(partial(_done, task), "number long, told string").toArrow()
        found = dict(zip(told["number"].to_pylist(), told["told"].to_pylist(), strict=True))
        return [json.loads(found[number]) for number in range(count)]

    def stop(self) -> None:
        """Stop whatever runs for this session. Nothing does where the engine is away."""
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

    def _indexed(self, source: Reference, nodes: NodeTable) -> DataFrame:
        """Rows of both ends as they were read (``a``, ``b``) and as nodes (``s``, ``t``), null for none."""
        read = self._read(source)
        if missing := {source.source, source.target} - set(read.columns):
            raise InvalidInput(NO_COLUMN.format(min(missing)))
        named = self.session.sql(
            f"select cast(`{source.source}` as string) a, cast(`{source.target}` as string) b from {{read}}",
            read=read,
        )
        if nodes.ids is None:
            index = ", ".join(
                f"case when {end} rlike '{_INTEGER}' and try_cast({end} as bigint) < {nodes.count} "
                f"then try_cast({end} as bigint) end {name}"
                for end, name in (("a", "s"), ("b", "t"))
            )
            return self.session.sql(f"select a, b, {index} from {{named}}", named=named)
        address = places.below(self.place, f"{UNIVERSE}/nodes.parquet")
        places.put_table({"id": nodes.id_array(), "node": np.arange(nodes.count)}, address)
        return self.session.sql(
            "select a, b, x.node s, y.node t from {named} left join {nodes} x on a = x.id "
            "left join {nodes} y on b = y.id",
            named=named,
            nodes=self.session.read.parquet(places.below(self.place, UNIVERSE)),
        )


@dataclass(frozen=True)
class OnSpark:
    """Canonical edges that stand in parts in the engine's place."""

    engine: Spark
    nodes: NodeTable
    parts: Sequence[Part]

    def degrees(self) -> Iterator[np.ndarray]:
        """Count the edges of every node: counted once, and fetched a block at a time."""
        counted = places.below(self.engine.place, DEGREES)
        if self._files:
            self._sql(
                "select node, count(*) n from (select source node from {edges} union all "
                "select target node from {edges}) group by node"
            ).write.mode("overwrite").parquet(counted)
        for first in range(0, self.nodes.count, BLOCK_NODES):
            size = min(BLOCK_NODES, self.nodes.count - first)
            degrees = np.zeros(size, dtype=np.int64)
            if self._files:
                block = self.engine.session.read.parquet(counted)
                told = block.filter(f"node >= {first} and node < {first + size}").toArrow()
                degrees[told["node"].to_numpy() - first] = told["n"].to_numpy()
            yield degrees

    def pairs(self, labels: np.ndarray, groups: int) -> np.ndarray:
        """Count the edges between labels: two joins and a group-by."""
        counts = np.zeros((groups, groups), dtype=np.int64)
        if not self._files:
            return counts[np.triu_indices(groups)]
        place = places.below(self.engine.place, LABELS)
        columns = {"node": np.arange(len(labels)), "label": labels}
        places.put_table(columns, places.below(place, "labels.parquet"))
        told = self._sql(
            "select least(x.label, y.label) a, greatest(x.label, y.label) b, count(*) n from {edges} "
            "join {labels} x on source = x.node join {labels} y on target = y.node group by 1, 2",
            labels=self.engine.session.read.parquet(place),
        ).toArrow()
        counts[told["a"].to_numpy(), told["b"].to_numpy()] = told["n"].to_numpy()
        return counts[np.triu_indices(groups)]

    def fingerprint(self, key: bytes) -> str:
        """Sort the pairs of ranks in ranges, a task each; one task digests them in their order."""
        joined = np.concatenate(list(self.degrees())) > 0
        ids, ranks = ranked({"node": self.nodes.id_array()}, {"node": joined})
        place, count = self.engine.place, len(ids)
        places.put_table({"id": ids}, places.below(place, f"{IDS}/ids.parquet"))
        of_nodes = {"node": np.flatnonzero(joined), "rank": ranks["node"][joined].astype(np.int64)}
        places.put_table(of_nodes, places.below(place, f"{KEYS}-ranks/ranks.parquet"))

        def write(table: pa.Table) -> pa.Table:
            return _write_keys(place, table)

        buckets = max(1, len(self.parts))
        width = max(1, -(-count // buckets))
        if self._files:
            pairs = self._sql(
                f"select cast(least(x.rank, y.rank) div {width} as int) bucket, least(x.rank, y.rank) low, "
                "greatest(x.rank, y.rank) high from {edges} join {ranks} x on source = x.node "
                "join {ranks} y on target = y.node",
                ranks=self.engine.session.read.parquet(places.below(place, f"{KEYS}-ranks")),
            )
            pairs.groupBy("bucket").applyInArrow(write, "bucket int").toArrow()
        (told,) = self.engine.each(partial(_fingerprinted, place, buckets, key), 1)
        return str(told["digest"])

    @property
    def _files(self) -> list[str]:
        return [places.below(self.engine.place, part.name) for part in self.parts if part.rows]

    def _sql(self, query: str, **frames: Any) -> DataFrame:
        edges = self.engine.session.read.parquet(*self._files)
        return self.engine.session.sql(query, edges=edges, **frames)


def _done(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the task for every number of the batches."""
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        told = [json.dumps(dict(task(number))) for number in numbers]
        yield pa.RecordBatch.from_pydict({"number": pa.array(numbers, pa.int64()), "told": told})


def _digested(files: Sequence[str], number: int) -> Mapping[str, Any]:
    return {"sha256": places.digest(files[number])}


def _write_bucket(place: str, buckets: int, nodes: int, table: pa.Table) -> pa.Table:
    """Write the part of one group of pairs, each once; what is known of it."""
    low, high = (table[name].to_numpy().astype(np.uint64) for name in ("low", "high"))
    name = part_name(table["bucket"][0].as_py(), buckets)
    part = _put_part(place, name, low * np.uint64(nodes) + high, nodes)
    return pa.table({"told": [json.dumps(asdict(part))]})


def _put_part(place: str, name: str, keys: np.ndarray, nodes: int) -> Part:
    with tempfile.TemporaryDirectory() as scratch:
        part = write_part(in_groups(np.unique(keys), nodes), Path(scratch) / name, nodes)
        places.put(Path(scratch) / name, places.below(place, name))
    return part


def _write_keys(place: str, table: pa.Table) -> pa.Table:
    """Write the sorted keys of one range of ranks."""
    low, high = (table[name].to_numpy().astype("<u8") for name in ("low", "high"))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "keys"
        np.sort(low << np.uint64(32) | high).astype("<u8").tofile(path)
        places.put(path, places.below(place, f"{KEYS}/{table['bucket'][0].as_py():05d}"))
    return table.select(["bucket"]).slice(0, 1)


def _fingerprinted(place: str, buckets: int, key: bytes, number: int) -> Mapping[str, Any]:
    """Digest ids and pairs in their order. A few MB are in memory, and the ids."""
    files, path = places.opened(places.below(place, f"{IDS}/ids.parquet"))
    ids = pq.read_table(path, filesystem=files)["id"].cast(pa.large_string()).combine_chunks()
    digest = begun(ids, key)
    for bucket in range(buckets):
        address = places.below(place, f"{KEYS}/{bucket:05d}")
        if places.exists(address):
            for chunk in places.chunks(address):
                digest.update(chunk)
    return {"digest": digest.hexdigest()}
