"""What may be asked of a release: one set of checks, which need public facts alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core import errors
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection
from core.methods import registry
from core.privacy.accounting.plan import Cost, GuaranteeKind
from core.publishing import checks

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = GraphSchema(
    node_types=(
        NodeType(
            name="person",
            count=9,
            attributes=(
                Attribute(name="region", protection=Protection.PUBLIC),
                Attribute(name="no-name-for-gml", protection=Protection.WITHHELD),
            ),
        ),
    ),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="calls", source="person", target="person"),
        EdgeType(name="near", source="person", target="person", public=True),
    ),
)


def test_they_need_no_library_of_a_worker():
    program = (
        "import sys, core.publishing.checks, core.publishing.spec\n"
        "print(sorted({'numpy', 'pyarrow', 'polars', 'scipy', 'sqlalchemy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_relations_are_the_protected_ones_in_declared_order():
    assert checks.protected_relations(SCHEMA, None) == ("knows", "calls")
    assert checks.protected_relations(SCHEMA, ["calls", "knows"]) == ("knows", "calls")
    assert checks.protected_relations(SCHEMA, ["calls"]) == ("calls",)


@pytest.mark.parametrize(
    ("wanted", "error", "field"),
    [
        (["knows", "near"], errors.NotAccepted, "edge_types.1"),
        (["nothing"], errors.NotAccepted, "edge_types.0"),
        (["knows", "knows"], errors.InvalidInput, "edge_types"),
    ],
)
def test_other_relations_are_refused_by_their_place(wanted, error, field):
    with pytest.raises(error) as caught:
        checks.protected_relations(SCHEMA, wanted)
    assert (type(caught.value), caught.value.members["field"]) == (error, field)


def test_where_every_relation_is_public_there_is_nothing_to_ask_for():
    public = SCHEMA.model_copy(update={"edge_types": SCHEMA.edge_types[2:]})
    with pytest.raises(errors.NotAccepted, match="nothing to synthesise"):
        checks.protected_relations(public, None)


def test_formats_are_judged_by_what_is_released():
    """What is withheld is in no file: it need not have a name there."""
    released = checks.released_schema(SCHEMA, ["knows"])
    assert [relation.name for relation in released.edge_types] == ["knows", "near"]
    assert [attribute.name for attribute in released.node_types[0].attributes] == ["region"]
    assert checks.checked_formats(["parquet", "gml", "csv"], released) == ("gml", "csv")
    with pytest.raises(errors.NotAccepted, match="no-name-for-gml"):
        checks.checked_formats(["gml"], SCHEMA)


@pytest.mark.parametrize(
    ("wanted", "error", "field"),
    [
        (["csv", "docx"], errors.UnknownFormat, None),
        (["csv", "npz"], errors.NotAccepted, "formats.1"),
        (["csv", "csv"], errors.InvalidInput, "formats"),
    ],
)
def test_other_formats_are_refused(wanted, error, field):
    with pytest.raises(error) as caught:
        checks.checked_formats(wanted, checks.released_schema(SCHEMA, ["knows"]))
    assert type(caught.value) is error
    assert field is None or caught.value.members["field"] == field


def test_two_formats_that_would_write_one_file_are_refused(monkeypatch):
    monkeypatch.setattr(checks.formats.get("tsv"), "extensions", ("csv",))
    with pytest.raises(errors.InvalidInput, match="one file"):
        checks.checked_formats(["csv", "tsv"], checks.released_schema(SCHEMA, ["knows"]))


def test_parameters_that_are_wrong_are_named():
    model = registry.get("psgraph").Params
    assert checks.checked_params(model, {}) == model()
    with pytest.raises(errors.InvalidInput) as caught:
        checks.checked_params(model, {"surprise": 1})
    assert caught.value.members["field"] == "parameters.surprise"


@pytest.mark.parametrize(
    ("nano_epsilon", "delta_atto", "kept"), [(7, 3, True), (8, 3, False), (7, 4, False), (None, 0, True)]
)
def test_a_plan_keeps_to_what_was_asked_for(nano_epsilon, delta_atto, kept):
    cost = Cost(nano_epsilon, delta_atto, GuaranteeKind.APPROXIMATE, None, 0)
    assert checks.keeps_to(cost, 7, 3) is kept
