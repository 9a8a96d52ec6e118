"""What may be said of a file is declared in the OpenAPI document: every option of every format."""

from __future__ import annotations

import pytest

from core.graphs import formats
from tests.support.stage import COLLECTED


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("put", "/v1/datasets/{dataset_id}/content"),
        ("put", "/v1/datasets/{dataset_id}/sensitive-links"),
        ("post", "/v1/streams/{stream_id}/snapshots"),
    ],
)
def test_every_option_of_every_format_is_a_parameter(method: str, path: str):
    operation = COLLECTED.openapi()["paths"][path][method]
    named = {each["name"] for each in operation["parameters"]}
    for name in formats.read_names():
        options = set(formats.reader(name).OptionsModel.model_fields)
        assert options <= named, name
