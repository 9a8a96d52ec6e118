"""Categories and bounds of node attributes: declared, written where declared, held against uploads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from core.errors import IngestRejected
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import Attribute, GraphSchema, NodeType
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import UploadedFile

COUNTRY = {"name": "country", "kind": "category", "categories": ["ch", "fr"]}
WORDS = {"name": "words", "kind": "vector", "bounds": [0, 1], "length": 3}
AGE = {"name": "age", "kind": "number", "bounds": [0, 120], "cuts": [18, 65]}


def ingest(folder: Path, nodes: str, *attributes: dict[str, Any]) -> Graph:
    kind = NodeType(attributes=tuple(Attribute.model_validate(each) for each in attributes))
    files = {}
    for part, text in (("nodes", nodes), ("edges", "source,target\na,b\n")):
        (folder / part).write_text(text)
        files[part] = UploadedFile(folder / part, "csv")
    canonicalise(files, GraphSchema(node_types=(kind,)), folder / "out")
    return read_graph(folder / "out")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({**COUNTRY, "kind": "number"}, "only a category"),
        ({**COUNTRY, "categories": ["ch", "ch"]}, "twice"),
        ({**COUNTRY, "categories": ["ch "]}, "spaces around"),
        ({**COUNTRY, "clip": True}, "with bounds"),
        ({**AGE, "kind": "category"}, "only a number or a vector"),
        ({**AGE, "kind": "vector"}, "bounds and length together"),
        ({**WORDS, "bounds": None}, "bounds and length together"),
        ({**WORDS, "length": 0}, "greater than or equal to 1"),
        ({**AGE, "length": 3}, "only a vector"),
        ({**AGE, "nonzero": 3}, "with the length of a vector"),
        ({**WORDS, "nonzero": 4}, "at most that"),
        ({**WORDS, "nonzero": 2, "bounds": [1, 2]}, "0 is within the bounds"),
        ({**AGE, "bounds": None}, "with bounds"),
        ({**AGE, "bounds": [3, 2]}, "above"),
        ({**AGE, "bounds": [0, float("nan")]}, "finite"),
        ({**AGE, "cuts": [0]}, "range"),
    ],
)
def test_what_cannot_be_declared_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Attribute.model_validate(fields)


def test_an_attribute_without_them_is_written_as_ever() -> None:
    written = json.loads(Attribute(name="country").model_dump_json())
    assert list(written) == ["name", "kind", "protection", "label"]
    for fields in (COUNTRY, AGE, {**AGE, "clip": True}, WORDS, {**WORDS, "nonzero": 2, "cuts": [0.5]}):
        attribute = Attribute.model_validate(fields)
        assert Attribute.model_validate_json(attribute.model_dump_json()) == attribute
        assert json.loads(attribute.model_dump_json()).items() >= fields.items()


def test_values_as_declared_and_missing_ones_are_taken(tmp_path: Path) -> None:
    table = ingest(tmp_path, "id,country,age\na,ch,\nb,,17.5\n", COUNTRY, AGE).nodes["node"]
    assert table.attributes["country"].to_pylist() == ["ch", None]
    assert table.attributes["age"].tolist()[1] == 17.5


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("b,de,3", 2, "'country' has no category 'de'; declare it, or mend it"),
        ("b,ch,121", 3, "'age' is '121', outside 0 to 120; mend it, declare wider bounds, or clip"),
    ],
)
def test_other_values_are_found_by_line_and_column(
    tmp_path: Path, row: str, column: int, message: str
) -> None:
    with pytest.raises(IngestRejected) as caught:
        ingest(tmp_path, f"id,country,age\na,ch,3\n{row}\n", COUNTRY, AGE)
    (finding,) = caught.value.members["findings"]
    assert finding == {"file": "nodes", "line": 3, "column": column, "message": message}


def test_what_is_beyond_bounds_may_be_clipped(tmp_path: Path) -> None:
    table = ingest(tmp_path, "id,age\na,-4\nb,500\n", {**AGE, "clip": True}).nodes["node"]
    assert table.attributes["age"].tolist() == [0, 120]


def test_a_vector_is_held_against_its_length_bounds_and_numbers_that_are_not_0(tmp_path: Path) -> None:
    declared = {**WORDS, "nonzero": 2}
    table = ingest(tmp_path, "id,words\na,0;1;0.5\nb,0;0;0\n", declared).nodes["node"]
    assert table.attributes["words"].tolist() == [[0, 1, 0.5], [0, 0, 0]]
    for row, message in (
        ("b,0;1", "'words' is '0;1'; write 3 finite numbers with ';' between them"),
        ("b,0;2;0", "'words' is '0;2;0', outside 0 to 1; mend it, declare wider bounds, or clip"),
        ("b,1;1;1", "more than 2 of its numbers are not 0; mend it, or declare more"),
    ):
        with pytest.raises(IngestRejected) as caught:
            ingest(tmp_path, f"id,words\na,0;1;0.5\n{row}\n", declared)
        (finding,) = caught.value.members["findings"]
        assert (finding["line"], finding["column"]) == (3, 2)
        assert message in finding["message"]
    clipped = {**WORDS, "clip": True}
    table = ingest(tmp_path, "id,words\na,-3;1;0.5\nb,0;7;0\n", clipped).nodes["node"]
    assert table.attributes["words"].tolist() == [[0, 1, 0.5], [0, 1, 0]]
