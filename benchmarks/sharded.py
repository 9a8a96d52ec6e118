"""A release past what one machine's memory holds: upload, ingest, fit, law, shards, and how they are joined.

    python -m benchmarks.sharded --folder FOLDER                   10^7 edges
    python -m benchmarks.sharded --nodes 10000000 --edges 200000000 --repeat 1 5 --shards 16 --folder FOLDER

A graph of so many nodes and about so many edges is planted (power-law degrees, groups), and stored as an
upload in Parquet, its rows in no order. Each stage then runs in a process of its own: ingest sorts and merges
the rows into parts; the fit is ``dcsbm``'s at epsilon 1 over those parts, without labels; the law of the
shards is made; shards are drawn one after the other, and each is read again and verified by its own task; the
join adds up the degrees that those left. ``--repeat``
draws graphs that many times as large from the fitted cell, laid side by side so often: same degrees, more
nodes. FOLDER must be empty; what is in it is deleted.

    python -m benchmarks.sharded --form values --nodes 1000000 --edges 20000000 --folder FOLDER

does the same of edges that carry an integer of 1 to 5 each, by ``anchored`` (``bare``: by that method without
values), or under unit node by ``projection`` (``persons``).

    python -m benchmarks.sharded --engine parts spark --nodes 1000000 --edges 20000000 --folder FOLDER

compares the engines that count a folder of Parquet where it lies, the parts code and Sail (Spark Connect, two
threads): rows, canonical edges, degrees, edges between 16 labels, fingerprint. Each then draws the shards of
a fit of the same edges, ``--repeat`` times as large: law, parts and degrees pass through a folder, sealed, as
workers hand them to an engine. Memory is the larger of the process that asks and the engine's; *bytes moved*
are those that stand with the service at the end, or went to the engine and came back.

    python -m benchmarks.sharded --threads 1 2 1 2 --nodes 1000000 --edges 20000000 --folder FOLDER

compares numbers of threads at what they could share: sorting and writing of parts, counting of degrees.

CPU seconds are user and system time of all threads of the stage's process, imports included; peak memory is
that of the whole process. Printed too: what 10^10 edges cost on 16 workers, computed from what was measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.evaluation.suite import degree_statistics
from core.graphs.columns.key_sort import sorted_keys
from core.graphs.counted.here import Here
from core.graphs.counted.places import joint
from core.graphs.counted.port import Engine
from core.graphs.counted.reference import Reference
from core.graphs.graph import NodeTable
from core.graphs.ingest.referenced import count_reference
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.partable import inside, part_name
from core.graphs.stored.parted import groups, read_parted, write_parted
from core.graphs.stored.parts import ENDS, Ends, Part, canonical_part, write_part
from core.graphs.uploads.files import IngestLimits
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.shards.draw import strips, write_strips
from core.methods._shared.shards.law import load_law, strip_law
from core.methods._shared.shards.values import load_values
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import fresh_key, noise_generator
from core.privacy.queries import tally
from core.privacy.session.counted import PrivateParts
from core.privacy.units import Unit
from core.publishing.drawn import DEGREES, LAW, PARTS, Drawing
from core.publishing.parts import degrees_of, placed, write_degrees
from core.storage.folders import pack

NANO_EPSILON = 1_000_000_000
COUNTS = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 1}
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
FORMS: dict[str, tuple[str, dict[str, Any], Unit, tuple[EdgeAttribute, ...]]] = {
    "plain": ("dcsbm", COUNTS, Unit.EDGE, ()),
    "bare": ("anchored", {"evidence": "none"}, Unit.EDGE, ()),
    "values": ("anchored", {"evidence": "none", "attribute_share": 0.5}, Unit.EDGE, (STARS,)),
    "persons": ("projection", {"triangle_share": 0}, Unit.NODE, ()),
}
"""By name: the method, its parameters, the unit, and what edges carry."""
GROUPS, INSIDE = 16, 0.6  # of the planted graph, and the share of its edges inside them
MOST_NODES = 2**26  # of a fit: what one query may return
LARGEST, WORKERS = 10**10, 16
KEY = b"a key of this benchmark"
Told = dict[str, Any]


def plant(asked: argparse.Namespace) -> Told:
    """An upload: ``rows-*.parquet`` of a power-law graph with groups, every node at a random place."""
    rng, nodes = np.random.default_rng(1), asked.nodes
    weights = np.minimum((1 - rng.random(nodes)) ** (-1 / 1.5), nodes**0.5)
    weights = np.maximum(1, np.rint(weights * (2 * asked.edges / weights.sum()))).astype(np.int64)
    row, column = np.triu_indices(GROUPS)
    inside = row == column
    share = np.where(inside, INSIDE / GROUPS, (1 - INSIDE) / (~inside).sum())
    blocks = Blocks(row, column, np.rint(share * asked.edges).astype(np.int64))
    law = strip_law(weights, rng.integers(0, GROUPS, nodes), blocks, fresh_key(), rng)
    place = rng.permutation(nodes).astype(np.int32)
    (asked.folder / "upload").mkdir()
    for number, ends in enumerate(strips(law, range(law.strips))):
        columns = [pa.array(place[each]) for each in ends]
        table = pa.Table.from_arrays(columns, names=list(ENDS))
        pq.write_table(table, asked.folder / "upload" / f"rows-{number:05d}.parquet", use_dictionary=False)
    return {}


def ingest(asked: argparse.Namespace) -> Told:
    """The upload as a graph in parts."""
    _, _, unit, carried = FORMS[asked.form]
    kind = NodeType(count=asked.nodes, protected=unit is Unit.NODE)
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(attributes=carried),))
    files = sorted((asked.folder / "upload").iterdir())

    def rows() -> Iterator[Ends]:
        for path in files:
            table = pq.read_table(path, use_threads=False)
            ends = table["source"].to_numpy(), table["target"].to_numpy()
            none = np.zeros(len(ends[0]), dtype=np.int64)
            yield (*ends, none, none, 1 + (ends[0] + ends[1]) % 5) if carried else ends

    made = write_parted(schema, {"node": NodeTable(asked.nodes)}, rows(), asked.edges, asked.folder / "graph")
    shutil.rmtree(asked.folder / "upload")
    size = sum(part.bytes for part in made.parts)
    return {"edges": sum(part.rows for part in made.parts), "megabytes": size / 1e6}


def count(asked: argparse.Namespace) -> Told:
    """The upload counted where it lies, by one engine."""
    nodes, schema = NodeTable(asked.nodes), GraphSchema(node_types=(NodeType(),), edge_types=(EdgeType(),))
    labels, out = np.arange(asked.nodes) % GROUPS, asked.folder / f"counted-{asked.count_by}"
    out.mkdir()
    with engine_of(asked) as engine:
        source, limits = Reference(folder=str(asked.folder / "upload")), IngestLimits(max_rows=LARGEST)
        told = count_reference(
            engine,
            source,
            schema,
            {"node": nodes},
            {"node": [(labels, GROUPS)]},
            out,
            limits,
            fingerprint_key=KEY,
        )
    return {"edges": told.edges["edge"]["edges"], "bytes": told.bytes_stored, "content": told.fingerprint}


def draw(asked: argparse.Namespace) -> Told:
    """All shards drawn by one engine: it is given the law, and parts and degrees are fetched."""
    with engine_of(asked) as engine:
        place = (asked.folder / f"drawn-{asked.count_by}").as_uri()
        numbers = tuple(range(asked.shards))
        drawing = Drawing(place, FORMS[asked.form][0], numbers, asked.shards, secrets.token_bytes(32))
        law = b"".join(pack(asked.folder / "law"))
        drawing.put(LAW, [law])
        told = engine.each(drawing, asked.shards)
        moved = len(law)
        for part in told:
            content, degrees = (b"".join(drawing.get(f"{each}/{part['name']}")) for each in (PARTS, DEGREES))
            if hashlib.sha256(content).hexdigest() != part["sha256"]:
                raise ValueError("a part has other bytes than were told of it")
            moved += len(content) + len(degrees)
    shutil.rmtree(asked.folder / f"drawn-{asked.count_by}")
    return {"edges": sum(part["rows"] for part in told), "bytes": moved, "content": joint(told)}


@contextmanager
def engine_of(asked: argparse.Namespace) -> Iterator[Engine]:
    """The engine that is asked for; Sail in a process of its own."""
    if asked.count_by == "parts":
        yield Here(asked.folder / "canonical")
        return
    from core.graphs.counted.spark import Spark, connect

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "pysail", "spark", "server", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while not reached(port):
                time.sleep(0.1)
            session = connect(f"sc://127.0.0.1:{port}")
            session.conf.set("spark.sql.shuffle.partitions", "8")
            yield Spark(session, (asked.folder / "engine").as_uri())
        finally:
            server.terminate()


def reached(port: int) -> bool:
    """Whether something listens."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def fit(asked: argparse.Namespace) -> Told:
    """The fitted model of the graph in parts."""
    method, chosen, unit, _ = FORMS[asked.form]
    graph, generator = read_parted(asked.folder / "graph"), get(method)
    params = generator.Params(**chosen)
    facts = PublicFacts(graph.schema, unit, None, NANO_EPSILON, 0, ("edge",))
    plan = generator.plan(params, facts)
    session = PrivateParts(graph, Meter(plan, MemoryRecorder()))
    generator.sharding.fit_parts(session, plan, params, no_progress).save(asked.folder / "model")
    shutil.rmtree(asked.folder / "graph")
    return {}


def law(asked: argparse.Namespace) -> Told:
    """The law of the shards, nodes in a random order."""
    generator, rng, times = get(FORMS[asked.form][0]), noise_generator(), asked.repeat[0]
    model = generator.load(asked.folder / "model")
    if times > 1:
        (columns,) = model.cells.values()
        for name in ("labels", "degrees"):
            columns[name] = np.tile(columns[name], times)
        columns["blocks"] = columns["blocks"] * times
    order = rng.permutation(asked.nodes * times)
    laws = generator.sharding.shards(model, {"node": order}, rng, 2**24)
    laws.save(asked.folder / "law")
    (made,) = laws.laws
    return {"strips": made.strips, "nodes": made.nodes}


def shard(asked: argparse.Namespace) -> Told:
    """One shard."""
    started = time.process_time()
    made = load_law(asked.folder / "law")
    carried = [load_values(path) for path in sorted((asked.folder / "law").glob("values-*.npz"))]
    slots = replace(made.slots, attributes=tuple(each.attribute for each in carried))
    loaded = time.process_time() - started
    (asked.folder / "release").mkdir(exist_ok=True)
    path = asked.folder / "release" / part_name(asked.number, asked.shards)
    part = write_strips(made, asked.number, asked.shards, path, carried)
    degrees = asked.folder / "degrees" / part.name
    write_degrees(asked.folder / "release", part, slots, degrees)
    draws = int(made.copies[made.shard(asked.number, asked.shards)].sum())
    return {"part": asdict(part), "load": loaded, "draws": draws, "told": degrees.stat().st_size}


def join(asked: argparse.Namespace) -> Told:
    """The statistics of the whole, of the degrees that each part's task left; no part is read."""
    parts = [Part(**json.loads(path.read_text())) for path in sorted(asked.folder.glob("part-*.json"))]
    nodes = asked.nodes * asked.repeat[0]
    (own,) = placed(parts, [(1, len(parts))])
    found = degrees_of(asked.folder / "degrees", own, inside(nodes))
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    degree_statistics(schema, {"node": nodes}, [(("edge", None), found)])
    return {"edges": int(found[0].sum()) // 2, "megabytes": sum(part.bytes for part in parts) / 1e6}


def threads(asked: argparse.Namespace) -> Told:
    """The two halves of ingest and fit that could be shared among threads, by so many: a group of rows is
    sorted and written as a part, and the degrees of a part are counted."""
    nodes, keys = asked.nodes, asked.folder / "keys"
    if not keys.exists():
        keys.mkdir()
        files = sorted((asked.folder / "upload").iterdir())
        for number, path in enumerate(files):
            table = pq.read_table(path, use_threads=False)
            ends = np.sort(np.stack([table[end].to_numpy() for end in ENDS]).astype(np.uint64), axis=0)
            (ends[0] * np.uint64(nodes) + ends[1]).tofile(keys / f"{number:05d}")
    written, paths = asked.folder / f"by-{asked.number}", sorted(keys.iterdir())
    written.mkdir(exist_ok=True)

    def sort(path: Path) -> Part:
        own = sorted_keys(np.fromfile(path, np.uint64))
        own = own[np.concatenate([[True], own[1:] != own[:-1]])]
        return write_part(groups(own, nodes), written / path.name, nodes)

    def count_degrees(part: Part) -> np.ndarray:
        found = np.zeros(nodes, dtype=np.int64)
        for ends in canonical_part(written, part, nodes):
            for each in ends:
                tally(found, each)
        return found

    def timed(task: Callable[[Any], Any], items: list[Any]) -> tuple[list[Any], tuple[float, float]]:
        began = time.process_time(), time.perf_counter()
        made = list(pool.map(task, items))
        return made, (time.process_time() - began[0], time.perf_counter() - began[1])

    with ThreadPoolExecutor(asked.number) as pool:
        timed(sort, paths[:1])  # compiled code is loaded
        parts, sorting = timed(sort, paths)
        _, counting = timed(count_degrees, parts)
    shutil.rmtree(written)
    return {"sort": sorting, "count": counting}


STAGES: dict[str, Callable[[argparse.Namespace], Told]] = {
    each.__name__: each for each in (plant, count, threads, ingest, fit, law, shard, draw, join)
}


def run(stage: str, asked: argparse.Namespace, repeat: int = 1, number: int = 0, count_by: str = "") -> Told:
    """A stage in a fresh process: what it tells, with its CPU seconds, wall seconds and peak megabytes."""
    command = [sys.executable, "-m", "benchmarks.sharded", "--stage", stage, "--number", str(number)]
    for name in ("nodes", "edges", "shards", "folder", "form"):
        command += [f"--{name}", str(getattr(asked, name))]
    command += ["--repeat", str(repeat), *(["--count-by", count_by] if count_by else [])]
    started = time.monotonic()
    told: Told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told | {"wall": time.monotonic() - started}


def in_stage(asked: argparse.Namespace) -> None:
    """Run the stage that is asked for, here; one line of JSON."""
    begun = time.process_time()  # after the imports
    told = STAGES[asked.stage](asked)
    own = time.process_time() - begun
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    print(json.dumps(told | {"cpu": cpu, "own": own, "peak": max(each.ru_maxrss for each in used) / 1024}))


def line(name: str, told: Told, more: str = "") -> None:
    print(f"| {name} | {told['cpu']:.0f} | {told['wall']:.0f} | {told['peak']:.0f} | {more} |", flush=True)


def report(asked: argparse.Namespace) -> None:
    """All stages, a row of a table each, and what the largest would cost."""
    print("| stage | CPU s | wall s | peak MB | |\n|---|---:|---:|---:|---|", flush=True)
    run("plant", asked)
    if asked.engine:
        engines(asked)
        return
    if asked.threads:
        for count in asked.threads:
            told = run("threads", asked, number=count)
            for half in ("sort", "count"):
                cpu, wall = told[half]
                print(
                    f"| {half}, {count} threads | {cpu:.1f} | {wall:.1f} | {told['peak']:.0f} | |", flush=True
                )
        return
    fitted = [run("ingest", asked)]
    line("ingest", fitted[0], f"{fitted[0]['edges']:,} edges, {fitted[0]['megabytes']:.0f} MB")
    fitted.append(run("fit", asked))
    line("fit", fitted[-1])
    for repeat in asked.repeat:
        released(asked, repeat, fitted)


def engines(asked: argparse.Namespace) -> None:
    """Rows of each engine that counts the same upload, then of each that draws the same shards. All must find
    the same content."""
    compared("count", asked, "counted")
    size = sum(path.stat().st_size for path in (asked.folder / "upload").iterdir())
    print(f"The upload has {size / 1e6:.1f} MB.\n")
    for stage in ("ingest", "fit"):
        run(stage, asked)
    for repeat in asked.repeat:  # a shard has a strip at least
        shards = min(asked.shards, run("law", asked, repeat)["strips"])
        fewer = argparse.Namespace(**vars(asked) | {"shards": shards})
        compared("draw", fewer, f"drawn in {shards} shards")


def compared(stage: str, asked: argparse.Namespace, done: str) -> None:
    """A row for each engine that does the same."""
    found = set()
    for engine in asked.engine:
        told = run(stage, asked, count_by=engine)
        found.add((told["edges"], told["content"]))
        line(
            f"{engine}, {stage}", told, f"{told['edges']:,} edges {done}, {told['bytes'] / 1e6:.1f} MB moved"
        )
    print(f"\nThe engines found {'the same' if len(found) == 1 else 'OTHER'} content.\n", flush=True)


def released(asked: argparse.Namespace, repeat: int, fitted: list[Told]) -> None:
    """The rows of one release from the fitted model, and its sum with what the fit took."""
    whole = [run("law", asked, repeat)]
    line("law", whole[0], f"{whole[0]['nodes']:,} nodes, {whole[0]['strips']} strips")
    drawn = []
    for number in range(asked.shards):
        drawn.append(run("shard", asked, repeat, number))
        (asked.folder / f"part-{number:05d}.json").write_text(json.dumps(drawn[-1]["part"]))
    shards = {
        name: sum(each[name] for each in drawn) for name in ("cpu", "own", "wall", "load", "draws", "told")
    }
    shards["peak"] = max(each["peak"] for each in drawn)
    line(f"{asked.shards} shards", shards, f"{shards['draws']:,} pairs drawn; every part verified")
    checked = run("join", asked, repeat)
    edges, size = checked["edges"], checked["megabytes"]
    line("join", checked, f"{edges:,} edges, {size:.0f} MB; {shards['told'] / 1e6:.0f} MB of degrees read")
    line("release", summed([*whole, shards, checked]))
    if repeat == 1:
        line("ingest to release", summed([*fitted, *whole, shards, checked]))
    same = run("shard", asked, repeat, 0)["part"] == drawn[0]["part"]
    print(f"\nShard 0 drawn once more: {'the same bytes' if same else 'OTHER BYTES'}.")
    stages = {"law": whole[0], "shards": shards, "join": checked}
    if repeat == 1:
        stages |= {"ingest": fitted[0], "fit": fitted[1]}
    largest(asked, stages, edges, size, whole[0]["nodes"])
    shutil.rmtree(asked.folder / "release")
    shutil.rmtree(asked.folder / "degrees")


def summed(stages: list[Told]) -> Told:
    """Of several stages: time is added up, and memory is the largest's."""
    total = {name: sum(each[name] for each in stages) for name in ("cpu", "wall")}
    return total | {"peak": max(each["peak"] for each in stages)}


def largest(asked: argparse.Namespace, stages: dict[str, Told], edges: int, size: float, nodes: int) -> None:
    """What LARGEST edges on MOST_NODES nodes cost, by what was measured.

    Ingest, fit and drawing grow with edges, the law with nodes, its loading and the join with nodes times
    shards. What a stage's process takes to start is left out.
    """
    tasks, by_edges, by_nodes = WORKERS * 8, LARGEST / edges, MOST_NODES / nodes
    by_files = by_nodes * tasks / asked.shards
    shards = stages["shards"]
    costs = {name: stages[name]["own"] * by_edges for name in ("ingest", "fit") if name in stages}
    costs["law"] = stages["law"]["own"] * by_nodes
    costs[f"{tasks} shards load the law"] = shards["load"] * by_files
    costs[f"{tasks} shards are drawn and verified"] = (shards["own"] - shards["load"]) * by_edges
    costs["join"] = stages["join"]["own"] * by_files
    print(f"\n| {LARGEST:,} edges of {MOST_NODES:,} nodes | CPU s |\n|---|---:|")
    for name, cpu in costs.items():
        print(f"| {name} | {cpu:,.0f} |")
    spread = sum(cpu for name, cpu in costs.items() if "shards" in name)
    print(f"| all | {sum(costs.values()):,.0f} |")
    print(
        f"\nShards take {spread / WORKERS / 60:.1f} minutes on {WORKERS} workers; "
        f"{size * by_edges / 1000:.0f} GB of Parquet, "
        f"{shards['told'] * by_files / 1e9:.0f} GB of degrees at most."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, nargs="+", default=[1])
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--form", choices=FORMS, default="plain", help="what edges carry, and the unit")
    parser.add_argument("--engine", nargs="+", choices=("parts", "spark"), help="engines to compare")
    parser.add_argument("--threads", type=int, nargs="+", help="numbers of threads to compare")
    parser.add_argument("--count-by", choices=("parts", "spark"), help=argparse.SUPPRESS)
    parser.add_argument("--stage", choices=sorted(STAGES), help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stage:
        in_stage(asked)
        return
    if asked.form != "plain" and max(asked.repeat) > 1:
        parser.error("only the plain form is repeated")
    asked.folder.mkdir(parents=True, exist_ok=True)
    if any(asked.folder.iterdir()):
        parser.error("FOLDER is not empty")
    try:
        report(asked)
    finally:
        shutil.rmtree(asked.folder)


if __name__ == "__main__":
    main()
