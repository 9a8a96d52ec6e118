"""Releases without a service: reserved before, charged after, made by what the service's child runs."""

from __future__ import annotations

import json
import multiprocessing
import re
import signal
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.stats

import graphveil as gv
from core.graphs.ingest.assembled_objects import store
from core.publishing import alone
from core.reports.model import PublicPart
from graphveil import problems
from graphveil.local.synthesis import schema_of
from graphveil.problems import InvalidInput
from tests.support import spending
from worker import sandbox

TIMED = {"edge_types": [{"temporal": True}], "time": {"start": 0, "width": 10, "count": 3}}
ROUNDS = 40


def made(graph: Any, epsilon: Any = 1, **given: Any) -> gv.Release:
    return gv.synthesize(graph, epsilon, progress=False, **given)


def test_a_release_is_charged_and_says_what_it_promises(karate: nx.Graph, budget: gv.Budget) -> None:
    release = made(karate, budget=budget)
    assert budget.remaining == "3"
    part = PublicPart.model_validate(release.report)
    assert (part.guarantee.epsilon, str(part.guarantee.unit)) == ("1", "edge")
    assert "P[S] <= e^1 P'[S]" in release.guarantee
    synthetic = release.graph.to_networkx()
    assert synthetic.number_of_nodes() == 34
    assert not set(synthetic) & set(map(str, karate))  # fresh pseudonyms
    charge = budget.entries()[-1]
    assert charge["kind"] == "charge"
    names = {f"release/{path.name}" for path in release.folder.iterdir()}
    assert set(charge["digests"]) == names
    assert release.measurements["values"]
    assert not list(release.folder.rglob("*alignment*"))


def test_epsilon_runs_out_and_nothing_is_read(karate: nx.Graph, budget: gv.Budget, monkeypatch: Any) -> None:
    made(karate, "3.5", budget=budget)
    monkeypatch.setattr(alone, "run_release", lambda **_: pytest.fail("the graph was opened"))
    with pytest.raises(problems.BudgetExceeded) as refused:
        made(karate, 1, budget=budget)
    assert refused.value.members["remaining"] == "0.5"
    assert refused.value.name() == "budget-exceeded"
    assert budget.remaining == "0.5"


def test_what_fails_before_the_graph_is_opened_is_free_and_what_fails_after_is_not(
    karate: nx.Graph, budget: gv.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*, recorder: Any, **_: Any) -> None:
        raise problems.InvalidInput("no")

    def fails(*, recorder: Any, **_: Any) -> None:
        recorder.opening()
        raise KeyboardInterrupt

    monkeypatch.setattr(alone, "run_release", refuses)
    with pytest.raises(problems.InvalidInput):
        made(karate, budget=budget)
    assert budget.remaining == "4"
    monkeypatch.setattr(alone, "run_release", fails)
    with pytest.raises(KeyboardInterrupt):
        made(karate, budget=budget)
    assert budget.remaining == "3"
    assert [entry["kind"] for entry in budget.entries()][-3:] == ["reserve", "opening", "forfeit"]


def test_a_process_that_dies_while_it_reads_has_spent(karate: nx.Graph, budget: gv.Budget) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=spending.die_at_the_first_read, args=(budget.path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert budget.remaining == "3"
    made(karate, method="tmf", budget=budget)
    assert budget.remaining == "2"


@pytest.mark.faults
def test_releases_side_by_side_share_a_budget_and_never_spend_more(
    karate: nx.Graph, budget: gv.Budget
) -> None:
    """Four of five processes have the graph open at one time; the fifth finds nothing left, and need not
    wait."""
    context = multiprocessing.get_context("spawn")
    open_at_once, answers = context.Barrier(4), context.SimpleQueue()
    given = (budget.path, open_at_once, answers)
    processes = [context.Process(target=spending.release_beside_others, args=given) for _ in range(5)]
    for process in processes:
        process.start()
    found = sorted(answers.get() for _ in processes)
    for process in processes:
        process.join()
    assert found == ["refused", *["released"] * 4]
    assert budget.remaining == "0"
    kinds = [entry["kind"] for entry in budget.entries()]
    assert [kinds.count(each) for each in ("reserve", "opening", "charge", "forfeit")] == [4, 4, 4, 0]


def test_a_budget_file_that_is_replaced_during_a_release_costs_the_release(
    karate: nx.Graph, budget: gv.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert budget.path is not None
    path, before, original = budget.path, budget.path.read_bytes(), alone._run

    def replaced(*given: Any) -> None:
        original(*given)
        path.with_name("copy").write_bytes(before)
        path.with_name("copy").replace(path)

    monkeypatch.setattr(alone, "_run", replaced)
    with pytest.raises(problems.AccountBlocked, match="replaced"):
        made(karate, method="tmf", budget=budget)
    monkeypatch.undo()
    with pytest.raises(problems.AccountBlocked, match="earlier"):
        made(karate, method="tmf", budget=budget)
    assert path.read_bytes() == before


def test_a_budget_must_be_named_unless_the_graph_is_public(karate: nx.Graph) -> None:
    with pytest.raises(problems.InvalidInput, match="unlimited") as refused:
        made(karate)
    assert refused.value.members["field"] == "budget"
    assert made(karate, method="tmf", budget=gv.Budget.unlimited()).report
    assert made(karate, method="tmf", public=True).report


@pytest.mark.parametrize("other", [4, "budget.json", Path("budget.json"), {"epsilon": 4}, gv.Budget])
def test_what_is_no_budget_is_refused_with_how_to_open_one(karate: nx.Graph, other: Any) -> None:
    for ask in (gv.synthesize, gv.plan):
        for public in (False, True):
            with pytest.raises(
                InvalidInput, match=r"budget must be a graphveil.Budget, not \w+; open"
            ) as refused:
                ask(karate, 1, budget=other, public=public)
            assert refused.value.members["field"] == "budget"


def test_a_delta_is_refused_where_the_budget_has_none(karate: nx.Graph, budget: gv.Budget) -> None:
    for ask in (gv.synthesize, gv.plan):
        with pytest.raises(InvalidInput, match="delta 0") as refused:
            ask(karate, 1, budget=budget, delta="1e-6")
        assert refused.value.members["field"] == "delta"
    assert budget.remaining == budget.total


@pytest.mark.parametrize(
    ("given", "error", "field"),
    [
        ({"method": "nothing"}, problems.UnknownMethod, "method"),
        ({"formats": ["nothing"]}, problems.UnknownFormat, "format"),
        ({"method": "dcsbm", "parameters": {"x": 1}}, problems.InvalidInput, "parameters.x"),
        ({"parameters": {"x": 1}}, problems.InvalidInput, "parameters.x"),
        ({"epsilon": float("nan")}, problems.InvalidInput, "epsilon"),
        ({"epsilon": 0}, problems.InvalidInput, "epsilon"),
        ({"delta": 1}, problems.InvalidInput, "delta"),
        ({"unit": "nobody"}, problems.InvalidInput, "unit"),
        ({"unit": "event"}, problems.InvalidInput, "graph_schema.time"),
        ({"window": 3}, problems.InvalidInput, "window"),
        ({"seed": 1}, problems.InvalidInput, "seed"),
        ({"method": "gvae"}, problems.KindNotAllowed, None),
        ({"schema": {"edge_types": 3}}, problems.InvalidInput, "schema.edge_types"),
        ({"schema": "missing.json"}, problems.InvalidInput, "schema"),
        ({"edge_types": ["other"]}, problems.NotAccepted, "edge_types.0"),
    ],
)
def test_what_the_service_refuses_is_refused_with_its_own_errors_and_costs_nothing(
    karate: nx.Graph, budget: gv.Budget, given: dict[str, Any], error: type, field: str | None
) -> None:
    with pytest.raises(error) as refused:
        made(karate, **{"epsilon": 1, **given}, budget=budget)
    assert refused.value.members.get("field") == field
    assert budget.remaining == "4"
    assert [entry["kind"] for entry in budget.entries()] == ["grant"]


@pytest.mark.extras
def test_relations_have_methods_of_their_own(budget: gv.Budget) -> None:
    """A map is taken as the service takes it: two relations of one type, and `*` for what is not named."""
    import torch
    from torch_geometric.data import HeteroData

    graph = HeteroData()
    graph["person"].num_nodes = 12
    ring = torch.stack([torch.arange(12), (torch.arange(12) + 1) % 12])
    for name in ("knows", "calls"):
        graph["person", name, "person"].edge_index = ring
    kind = {"name": "person", "count": 12}
    relations = [{"name": name, "source": "person", "target": "person"} for name in ("knows", "calls")]
    asked = {"knows": {"method": "dcsbm", "parameters": {"preset": "small"}}, "*": "anchored"}
    declared = {"node_types": [kind], "edge_types": relations}
    release = made(graph, budget=budget, schema=declared, method=asked)
    told = release.report["provenance"]
    assert told["method"] == "composed"
    structures = release.report["parameters"]["structures"]
    assert {name: each["method"] for name, each in structures.items()} == {
        "knows": "dcsbm",
        "calls": "anchored",
    }
    with pytest.raises(problems.NotAccepted, match="no relation that is asked for"):
        gv.plan(graph, 1, schema=declared, method={"likes": "dcsbm"}, budget=budget)


def test_a_directed_graph_is_refused_by_a_method_for_undirected_ones(budget: gv.Budget) -> None:
    with pytest.raises(problems.NotAccepted):
        made(nx.DiGraph([(0, 1), (1, 2)]), method="dcsbm", budget=budget)
    assert made(nx.gnp_random_graph(20, 0.2, seed=1, directed=True), method="tmf", budget=budget).report


def test_an_altered_budget_is_refused(karate: nx.Graph, budget: gv.Budget) -> None:
    made(karate, method="tmf", budget=budget)
    assert budget.path is not None
    budget.path.write_text(budget.path.read_text().replace('"epsilon":1000000000', '"epsilon":100000000'))
    with pytest.raises(problems.AccountBlocked, match="altered"):
        made(karate, budget=budget)


def test_a_budget_of_another_unit_is_refused(tmp_path: Path, karate: nx.Graph) -> None:
    events = gv.Budget(tmp_path / "events", epsilon=4, unit="event")
    with pytest.raises(problems.UnitMismatch):
        made(karate, unit="edge", budget=events)
    assert events.remaining == "4"


@pytest.mark.extras
def test_times_types_and_graphs_of_tensors(tmp_path: Path) -> None:
    import torch
    from torch_geometric.data import HeteroData, TemporalData

    rng = torch.Generator().manual_seed(1)
    ends = torch.randint(0, 30, (2, 90), generator=rng)
    temporal = TemporalData(src=ends[0], dst=ends[1], t=torch.randint(0, 30, (90,), generator=rng))
    events = gv.Budget(tmp_path / "events", epsilon=4, unit="event")
    declared = TIMED | {"node_types": [{"count": 30}]}
    release = made(temporal, schema=declared, method="tmf", budget=events)
    assert release.report["guarantee"]["unit"] == "event"
    assert isinstance(release.graph.to_pyg(), TemporalData)
    typed = HeteroData()
    typed["user"].num_nodes = typed["film"].num_nodes = 30
    typed["user", "sees", "film"].edge_index = ends
    release = made(typed, method="tmf", budget=gv.Budget.unlimited())
    assert release.graph.to_pyg()["user", "sees", "film"].edge_index.shape[0] == 2


def test_a_file_is_taken_with_its_nodes(tmp_path: Path, karate: nx.Graph, budget: gv.Budget) -> None:
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("source,target,note\n" + "".join(f"{u},{v},x\n" for u, v in karate.edges))
    nodes.write_text("id\n" + "".join(f"{node}\n" for node in karate))
    with pytest.raises(problems.InvalidInput, match="nodes"):
        made(edges, budget=budget)
    assert made(edges, nodes=34, method="tmf", budget=budget).graph.to_networkx().order() == 34
    assert made(str(edges), nodes=nodes, method="tmf", budget=budget).graph.to_networkx().order() == 34
    nx.write_graphml(karate, tmp_path / "karate.graphml")
    assert made(tmp_path / "karate.graphml", method="tmf", budget=budget).graph.to_networkx().order() == 34
    public = made(edges, method="tmf", public=True)
    caveats = {each["code"] for each in public.report["caveats"]}
    assert "universe_from_edges" in caveats
    other = tmp_path / "edges.unknown"
    other.write_text("x")
    with pytest.raises(problems.UnknownFormat):
        made(other, nodes=3, budget=budget)
    with pytest.raises(problems.InvalidInput, match="no file"):
        made(tmp_path / "missing.csv", nodes=3, budget=budget)


def test_a_seed_repeats_a_draw_of_a_public_graph_but_not_its_noise(karate: nx.Graph) -> None:
    assert made(karate, method="tmf", public=True, seed=7).report["provenance"]["seed"] == 7


def test_a_release_is_saved_and_read_again(karate: nx.Graph, tmp_path: Path, budget: gv.Budget) -> None:
    release = made(karate, formats=["gexf"], method="tmf", budget=budget)
    saved = release.save(tmp_path / "saved")
    again = gv.read(saved)
    assert again.report == release.report
    assert nx.utils.graphs_equal(again.graph.to_networkx(), release.graph.to_networkx())
    assert nx.read_gexf(saved / "graph.gexf").order() == 34
    with pytest.raises(FileExistsError):
        release.save(saved)
    with pytest.raises(problems.InvalidInput):
        gv.read(tmp_path)


def test_a_notebook_shows_guarantee_cost_and_picture(karate: nx.Graph, budget: gv.Budget) -> None:
    shown = made(karate, budget=budget)._repr_html_()
    assert "epsilon 1 of the unit edge" in shown
    assert "P[S]" in shown
    halves = "0 1 0"  # of a circle, as a path draws it
    assert shown.count(halves) == 2 * 34
    large = made(nx.gnp_random_graph(400, 0.02, seed=1), method="tmf", public=True)._repr_html_()
    assert halves not in large
    assert "degree, or more" in large
    empty = made(nx.empty_graph(5), "0.001", method="dgg", public=True)._repr_html_()
    assert "<svg" in empty
    assert "3 of epsilon 4 left" in budget._repr_html_()


def test_a_plan_says_what_a_release_says_and_costs_nothing(karate: nx.Graph, budget: gv.Budget) -> None:
    planned = gv.plan(karate, 1, budget=budget)
    assert budget.remaining == "4"
    release = made(karate, budget=budget)
    assert planned.digest == release.report["provenance"]["plan_digest"]
    assert (planned.method, planned.epsilon, planned.delta) == (
        release.report["provenance"]["method"],
        "1",
        "0",
    )
    assert planned.reads
    assert {each["query"] for each in planned.precision} >= {"edge_count", "degrees"}
    relative = gv.plan(karate, 1, assume={"edges": 78}).expected
    assert {each["question"] for each in relative} > {each["question"] for each in planned.expected}
    with pytest.raises(problems.InvalidInput, match="assume"):
        gv.plan(karate, 1, assume={"edges": -1})


def test_methods_are_compared_on_public_graphs(karate: nx.Graph) -> None:
    with pytest.raises(problems.InvalidInput, match="public=True") as refused:
        gv.compare(karate, ["dgg"], [1], progress=False)
    assert refused.value.members["field"] == "public"
    found = gv.compare(karate, ["dgg", "tmf"], [1, 20], public=True, runs=2, progress=False)
    table = found.table("edges")
    assert set(table) == {"dgg", "tmf"}
    assert set(table["dgg"]) == {"1", "20"}
    assert len([row for row in found.rows if row["metric"] == "edges"]) == 8
    assert "<table>" in found._repr_html_()
    with pytest.raises(KeyError, match="degree_total_variation"):
        found.table("nothing")
    with pytest.raises(problems.InvalidInput, match="suite"):
        gv.compare(karate, ["dgg"], [1], suite="huge", public=True, progress=False)


def test_a_comparison_takes_a_file_as_a_release_does(tmp_path: Path) -> None:
    (tmp_path / "calls.dat").write_text(
        "when|who|whom\n" + "".join(f"{i}|a{i}|a{i + 1}\n" for i in range(30))
    )
    found = gv.compare(
        str(tmp_path / "calls.dat"),
        ["dgg"],
        [1],
        public=True,
        columns="source=who,target=whom,-=when",
        format="csv",
        progress=False,
    )
    assert {row["original"] for row in found.rows if row["metric"] == "edges"} == {30}


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def test_no_release_tells_how_long_anything_took_and_the_pages_say_who_can_measure_it(
    karate: nx.Graph,
) -> None:
    """Run times depend on the private graph. What is promised of them and what is not covered agree."""
    release = made(karate, budget=gv.Budget.unlimited())
    told = {"report": release.report, "measurements": release.measurements | {"values": []}}
    timed = re.compile(r"seconds|duration|elapsed|run_?time|(_at|_time)$")
    assert not [key for key in _keys(told) if timed.search(key)]
    pages = Path(__file__).parents[3]
    (promised,) = re.findall(
        r"- \*\*Running times\.\*\*.*?(?=\n\n)", (pages / "PRIVACY_PROMISE.md").read_text(), re.S
    )
    assert "polls" in promised
    assert "outside the guarantee" in promised
    assert "only" not in promised  # coarse buckets are not all that is seen
    assert "whoever polls" in (pages / "SECURITY.md").read_text().split("## What is not covered")[1]


class _Answering:
    """The service's side of a child's pipes: everything is durable at once."""

    def opening(self) -> None: ...

    def record(self, entry: Any) -> None: ...

    def progress(self, stage: str, done: int, total: int) -> None: ...


@pytest.mark.faults
def test_the_law_is_that_of_the_services_child(tmp_path: Path) -> None:
    """Edges and largest degrees of releases made here, and by the child's own function of the same task."""
    graph = nx.gnp_random_graph(40, 0.1, seed=3)
    stored = store(graph, tmp_path / "graph")
    asked = alone.Asked(epsilon=1, method="dgg")
    task = alone.plan_alone(stored.schema, stored.nodes, asked)

    def of(folder: Path) -> tuple[int, int]:
        edges = pl.read_parquet(folder / "edges.parquet")
        ends = pl.concat([edges["source"], edges["target"]])
        return len(edges), int(ends.value_counts()["count"].max() or 0) if len(edges) else 0

    def by_child(number: int) -> tuple[int, int]:
        folder = tmp_path / f"child-{number}"
        folder.mkdir()
        (folder / "graph").symlink_to(tmp_path / "graph")
        (folder / "spec.json").write_text(task.task.model_dump_json())
        sandbox.KINDS["release"](folder, _Answering())  # type: ignore[arg-type]
        part = json.loads((folder / "out" / "release" / "public.json").read_text())
        assert part["provenance"]["plan_digest"] == gv.plan(graph, 1, method="dgg").digest
        return of(folder / "out" / "release")

    def here() -> tuple[int, int]:
        release = made(graph, method="dgg", budget=gv.Budget.unlimited())
        return of(release.folder)

    for look in range(3):  # chance alone fails one look in ten thousand
        ours = np.array([here() for _ in range(ROUNDS)])
        theirs = np.array([by_child(look * ROUNDS + number) for number in range(ROUNDS)])
        p = min(scipy.stats.ks_2samp(ours[:, each], theirs[:, each]).pvalue for each in range(2))
        if p > 1e-4:
            return
    pytest.fail(f"the laws differ: p = {p}")


def test_the_schema_may_be_a_file_or_an_object(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(TIMED))
    assert schema_of(tmp_path / "schema.json") == schema_of(TIMED) == schema_of(schema_of(TIMED))


def test_without_the_engine_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "core.publishing.alone", None)
    with pytest.raises(gv.EngineMissing, match=r"graphveil\[engine\]"):
        gv.synthesize(nx.path_graph(3), 1)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_lines_of_the_documentation_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[3] / page).read_text(encoding="utf-8")
    lines, *others = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(lines, names)
    assert names["release"].graph.to_networkx().order() == 34
    assert names["budget"].remaining == "3"
    assert len(others) == (page == "docs/python.md")
    sex = {"name": "sex", "kind": "category", "categories": ["f", "m"], "protection": "protected"}
    person = {"name": "person", "attributes": [sex]}
    knows = {"name": "knows", "source": "person", "target": "person"}
    Path("schema.json").write_text(json.dumps({"node_types": [person], "edge_types": [knows]}))
    for declared in others:
        exec(declared, names)
        assert names["made"].graph.to_networkx().order() == 5_000


def test_a_release_without_a_guarantee_is_on_no_budgets_account(karate: nx.Graph, budget: gv.Budget) -> None:
    with pytest.raises(problems.NotAccepted, match="unlimited"):
        made(karate, public=True, method="ppgsl", budget=budget)
    assert budget.remaining == "4"
