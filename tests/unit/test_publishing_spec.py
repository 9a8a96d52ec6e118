"""A job's spec: what is stored today is read as one of three types, and each says what sets it apart."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from core.evaluation.metric import Suite
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods import registry
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.units import Unit
from core.publishing.spec import Declared, JobSpec, Place, Plain, ReleaseTask, Sample, Tick

NANO = 10**9
AMOUNTS = {"step/7": 250_000_000}

# As the versions before this one wrote them: dictionaries, with the keys that each of the three had.
COMMON = {
    "job_id": "job_1",
    "dataset_id": "ds_1",
    "dataset_version": "dsv_1",
    "method": "psgraph",
    "chosen_because": None,
    "params": {"privacy_split": [0.5, 0.5]},
    "unit": "edge",
    "window": None,
    "nano_epsilon": NANO,
    "delta_atto": 0,
    "edge_types": ["edge"],
    "formats": ["csv"],
    "seed": None,
}
PLAIN = COMMON | {"derived": ["node_list"], "named_links": False}
SAMPLE = PLAIN | {"job_id": "job_2", "sample_of": "job_1", "formats": [], "seed": 7}
TICK = COMMON | {
    "unit": "w-event",
    "window": 4,
    "formats": [],
    "derived": [],
    "tick": {"stream_id": "str_1", "step": 7},
}
DECLARED = PLAIN | {"method": "declared", "nano_epsilon": 0, "formats": [], "nodes": {"node": 9}}
TYPES: dict[type, dict[str, Any]] = {Plain: PLAIN, Sample: SAMPLE, Tick: TICK}


def stored(release: dict[str, Any], amounts: dict[str, int] | None = None) -> dict[str, Any]:
    return {
        "release": release,
        "amounts": AMOUNTS if amounts is None else amounts,
        "kind": "pure",
        "label": None,
        "suite": "quick",
    }


@pytest.mark.parametrize(("type_", "release"), TYPES.items())
def test_what_is_stored_today_is_read_as_its_type_and_written_as_the_version_before_reads_it(type_, release):
    spec = JobSpec.model_validate(stored(release))
    assert type(spec.release) is type_
    assert (spec.kind, spec.suite) == (GuaranteeKind.PURE, Suite.QUICK)
    written = spec.model_dump(mode="json")
    assert written == stored(release | {"named_links": False})
    assert JobSpec.model_validate(written) == spec


def test_a_job_that_was_stored_before_it_said_which_records_are_apart_promises_no_whole_edge():
    before = JobSpec.model_validate(stored(PLAIN))
    assert before.protects is not None
    assert before.protects.endswith("; of relations whose records are apart any one row")
    for apart, words in (((), "any one edge of the graph"), (("edge",), "any one row of edge, there or not")):
        said = before.model_copy(update={"apart": apart})
        assert JobSpec.model_validate(said.model_dump(mode="json")) == said
        assert said.protects is not None
        assert said.protects.startswith(words)
        assert "apart" not in said.protects
    assert "apart" not in (JobSpec.model_validate(stored(TICK)).protects or "apart")


def test_a_release_without_measurements_says_so_and_one_with_them_nothing():
    without = JobSpec.model_validate(stored(PLAIN | {"measurements": False}))
    assert without.model_dump(mode="json")["release"]["measurements"] is False
    assert JobSpec.model_validate(without.model_dump(mode="json")) == without
    assert "measurements" not in JobSpec.model_validate(stored(PLAIN)).model_dump_json()


def test_the_oldest_rows_say_neither_what_was_derived_nor_whether_links_are_named():
    release = JobSpec.model_validate(stored(COMMON)).release
    assert (release.derived, release.named_links) == ((), False)


def test_each_type_says_what_sets_it_apart():
    plain, sample, tick = (JobSpec.model_validate(stored(TYPES[each])) for each in (Plain, Sample, Tick))
    assert [each.release.stream_id for each in (plain, sample, tick)] == [None, None, "str_1"]
    assert [each.release.step for each in (plain, sample, tick)] == [None, None, 7]
    assert [each.release.source_id for each in (plain, sample, tick)] == [None, "job_1", None]
    assert [each.release.window_nano_epsilon for each in (plain, sample, tick)] == [None, None, NANO]
    assert [each.nano_epsilon for each in (plain, sample, tick)] == [NANO, NANO, AMOUNTS["step/7"]]
    assert [each.charged_nano_epsilon for each in (plain, sample, tick)] == [NANO, 0, AMOUNTS["step/7"]]
    assert [each.release.reservation_expires for each in (plain, sample, tick)] == [True, False, False]
    assert [each.release.child for each in (plain, sample, tick)] == ["release", "sample", "release"]


def test_what_is_made_from_declarations_costs_nothing_and_is_no_release_of_data():
    spec = JobSpec.model_validate(stored(DECLARED, {}) | {"kind": "unread"})
    assert type(spec.release) is Declared
    assert (spec.nano_epsilon, spec.charged_nano_epsilon, spec.release.child) == (0, 0, "declared")
    assert JobSpec.model_validate(spec.model_dump(mode="json")) == spec
    for change in ({"nano_epsilon": 1}, {"delta_atto": 1}, {"sample_of": "job_0"}, {"nodes": {"node": -1}}):
        with pytest.raises(ValidationError):
            JobSpec.model_validate(stored(DECLARED | change, {}))


@pytest.mark.parametrize("extra", ["forbid", "ignore"])
@pytest.mark.parametrize(
    ("release", "amounts", "kind"),
    [
        (PLAIN, {}, "unread"),
        (TYPES[Sample], {}, "unread"),
        (TYPES[Tick], {}, "unread"),
        (DECLARED, {}, "pure"),
        (DECLARED, {}, "none"),
        (DECLARED, {"edge": 1}, "unread"),
        (DECLARED | {"method": "dcsbm"}, {}, "unread"),
    ],
)
def test_only_declarations_at_no_charge_are_of_the_kind_that_reads_nothing(release, amounts, kind, extra):
    with pytest.raises(ValidationError):
        JobSpec.model_validate(stored(release, amounts) | {"kind": kind}, extra=extra)


def test_a_plan_of_a_snapshot_is_that_of_its_step():
    schema = GraphSchema(node_types=(NodeType(name="node", count=9),), edge_types=(EdgeType(name="edge"),))
    facts = [JobSpec.model_validate(stored(each)).release.facts(schema) for each in (PLAIN, TICK)]
    assert [(each.tick, each.unit, each.window) for each in facts] == [
        (None, Unit.EDGE, None),
        (7, Unit.W_EVENT, 4),
    ]
    generator = registry.get("psgraph")
    assert generator.plan(generator.Params(), facts[0]).digest()


@pytest.mark.parametrize(
    "changes",
    [
        {"tick": {"stream_id": "str_1", "step": 7}, "sample_of": "job_0", "unit": "w-event", "window": 4},
        {"tick": {"stream_id": "str_1"}, "unit": "w-event", "window": 4},
        {"tick": {"stream_id": "str_1", "step": -1}, "unit": "w-event", "window": 4},
        {"sample_of": ""},
        {"surprise": 1},
        {"window": 3},
    ],
)
def test_what_is_of_no_type_is_refused(changes):
    with pytest.raises(ValidationError):
        JobSpec.model_validate(stored(PLAIN | changes))


def test_views_pass_over_what_a_later_version_adds_and_a_child_does_not():
    later = PLAIN | {"of_next_year": True}
    assert JobSpec.model_validate(stored(later), extra="ignore").release == Plain.model_validate(PLAIN)
    with pytest.raises(ValidationError):
        ReleaseTask.model_validate({"release": later, "plan": {}})


def test_a_spec_cannot_be_changed():
    spec = Place(stream_id="str_1", step=3)
    with pytest.raises(ValidationError):
        spec.step = 4  # type: ignore[misc]
