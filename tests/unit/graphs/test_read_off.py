"""What of a schema was read off the data: marked in a proposal, cleared only by what a curator declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.graphs.ingest.read_off import marks_of, sentence, still_read_off, words_for
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import Derived, GraphSchema
from core.graphs.uploads.files import UploadedFile

ROWS = "source,target,type,amount,how\n" + "".join(
    f"a{n},b{n},{('pays', 'owes')[n % 2]},{n},{('card', 'cash')[n % 3 % 2]}\n" for n in range(1, 49)
)
NODES = "id,type,age\n" + "".join(f"a{n},payer,{n}\nb{n},payee,{n + 1}\n" for n in range(1, 49))


@pytest.fixture
def proposed(tmp_path: Path) -> GraphSchema:
    (tmp_path / "edges").write_text(ROWS)
    (tmp_path / "nodes").write_text(NODES)
    files = {part: UploadedFile(tmp_path / part, "csv") for part in ("edges", "nodes")}
    return canonicalise(files, None, tmp_path / "graph").schema


def changed(schema: GraphSchema, **attributes: Any) -> GraphSchema:
    """The schema with other declarations of what edges carry."""
    relations = tuple(
        kind.model_copy(
            update={
                "attributes": tuple(
                    each.model_copy(update=attributes.get(each.name, {})) for each in kind.attributes
                )
            }
        )
        for kind in schema.edge_types
    )
    return schema.model_copy(update={"edge_types": relations})


def test_one_edge_changes_what_is_proposed_and_the_mark_says_so(proposed: GraphSchema, tmp_path: Path):
    """The reason for it all: released bounds would be [0, 50] with the edge away, and [0, 5000] with it."""
    (tmp_path / "edges").write_text(ROWS + "a1,b2,pays,4900,card\n")
    files = {part: UploadedFile(tmp_path / part, "csv") for part in ("edges", "nodes")}
    (tmp_path / "other").mkdir()
    other = canonicalise(files, None, tmp_path / "other" / "graph").schema
    bounds = [
        [each.bounds for kind in schema.edge_types for each in kind.attributes if each.name == "amount"]
        for schema in (proposed, other)
    ]
    assert bounds == [[(0, 50), (0, 50)], [(0, 50), (0, 5000)]]
    assert Derived.EDGE_VALUES in marks_of(proposed, nodes=False)


def test_a_proposal_is_marked_part_by_part(proposed: GraphSchema):
    found = marks_of(proposed, nodes=False)
    assert found == (*(Derived.NODE_TYPES, Derived.EDGE_TYPES, Derived.NODE_ATTRIBUTES, Derived.EDGE_VALUES),)
    assert words_for(Derived.EDGE_TYPES, proposed) == "the names of the relations: owes; pays"
    told = words_for(Derived.EDGE_VALUES, proposed)
    assert "amount of pays, 0 to 50" in told
    assert "how of owes, one of card, cash" in told
    assert marks_of(GraphSchema(), nodes=False) == ()


def test_what_is_declared_instead_clears_its_mark_and_no_other(proposed: GraphSchema):
    marks = marks_of(proposed, nodes=True)
    assert still_read_off(marks, proposed, proposed) == tuple(
        m for m in marks if m is not Derived.NODE_ATTRIBUTES
    )
    both = {"amount": {"bounds": (0, 100_000)}, "how": {"categories": ("card", "cash", "cheque")}}
    declared = changed(proposed, **both)
    assert Derived.EDGE_VALUES not in still_read_off(marks, proposed, declared)
    for one in both:
        half = changed(proposed, **{one: both[one]})
        assert Derived.EDGE_VALUES in still_read_off(marks, proposed, half)
    low = changed(proposed, amount={"bounds": (-1, 50)}, how=both["how"])
    assert Derived.EDGE_VALUES in still_read_off(marks, proposed, low)  # the upper end is still the data's


def test_attributes_of_nodes_are_marked_where_a_release_may_hold_them(proposed: GraphSchema):
    marks = marks_of(proposed, nodes=False)
    content = proposed.model_dump(mode="json")
    for kind in content["node_types"]:
        for attribute in kind["attributes"]:
            attribute["protection"] = "public"
    shown = GraphSchema.model_validate(content)
    assert Derived.NODE_ATTRIBUTES in still_read_off(marks, proposed, shown)


def test_caps_are_marked_until_they_are_others():
    def capped(bound: int) -> GraphSchema:
        return GraphSchema.model_validate({"edge_types": [{"edge_bound": bound}]})

    assert marks_of(capped(9), nodes=False) == (Derived.CAPS,)
    assert still_read_off([Derived.CAPS], capped(9), capped(9)) == (Derived.CAPS,)
    assert still_read_off([Derived.CAPS], capped(9), capped(10)) == ()


def test_the_guarantee_counts_what_lies_outside_it():
    assert sentence(()) == ""
    told = sentence((Derived.EDGE_VALUES, Derived.TIME_GRID))
    assert "2 in number: the time grid, what edges carry" in told
