"""Reports of older versions stay readable, and what their scores claimed is not shown again."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from core.reports.stored import curator_of, public_of
from tests.support import report_parts as parts

OLD_SCORE = {
    "value": 10.0,
    "formula": "10 x the mean of the parts.",
    "parts": [
        {"name": "edge_count_precision", "title": "T", "value": 1.0, "weight": 1.0, "explanation": "E"}
    ],
}


def old_public() -> dict:
    """A public part as version 2.0 stored it."""
    found = parts.public_part([parts.relation("knows", None, 100)]).model_dump(mode="json")
    del found["precision"], found["provenance"]["dataset_name"]
    return found | {"scores": {"utility": OLD_SCORE, "protection": OLD_SCORE}}


def old_curator() -> dict:
    """A curators' part as version 2.0 stored it."""
    found = parts.curator_part(parts.public_part([parts.relation("knows", None, 100)])).model_dump(
        mode="json"
    )
    del found["comparison"]["anchors"]
    found["scores"]["utility"] = OLD_SCORE
    return found


def test_an_older_public_part_is_read_without_its_scores():
    part = public_of(json.dumps(old_public()).encode())
    assert part.precision == ()
    assert "scores" not in part.model_dump()
    assert part.guarantee.epsilon == "1"


def test_an_older_curators_part_keeps_its_figures_and_loses_the_score_without_a_zero():
    old = old_curator()
    part = curator_of(json.dumps(old).encode())
    assert part.scores.utility is None
    assert part.scores.protection is not None
    assert part.comparison.anchors is None
    assert part.comparison.model_dump(mode="json", exclude={"anchors"}) == old["comparison"]


def test_what_this_version_stores_is_read_as_it_was():
    part = parts.public_part([parts.relation("knows", None, 100)])
    assert public_of(part.model_dump_json().encode()) == part
    curator = parts.curator_part(part)
    assert curator_of(curator.model_dump_json().encode()) == curator
    assert curator.scores.utility is not None


@pytest.mark.parametrize("read", [public_of, curator_of])
def test_an_unknown_field_is_refused_in_every_version(read):
    for content in (old_public() | {"surprise": 1}, {}, [], 7):
        with pytest.raises(ValidationError):
            read(json.dumps(content).encode())


def test_scores_beside_a_precision_are_refused():
    both = old_public() | {"precision": []}
    with pytest.raises(ValidationError):
        public_of(json.dumps(both).encode())
