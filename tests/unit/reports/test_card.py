"""The dataset card: front matter that a hub can read, and a body that is text."""

from __future__ import annotations

import pytest
import yaml
from markdown_it import MarkdownIt

from core.reports.card import card
from core.reports.catalogues.context import Publication
from core.reports.text import plain
from tests.support import reports

PARSER = MarkdownIt("commonmark").enable("table")
SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")


def parts(text: str) -> tuple[dict, str]:
    """Front matter and body."""
    opening, matter, body = text.split("---\n", 2)
    assert opening == ""
    return yaml.safe_load(matter), body


@pytest.mark.parametrize("name", reports.EVERY_PART)
def test_the_front_matter_is_what_a_hub_reads(name: str):
    matter, body = parts(card(reports.EVERY_PART[name]()))
    assert matter["task_categories"] == ["graph-ml"]
    assert matter["size_categories"][0] in SIZES
    assert matter["configs"] == [
        {"config_name": "edges", "data_files": "edges.parquet"},
        {"config_name": "nodes", "data_files": "nodes.parquet"},
    ]
    assert "graphveil" in matter["tags"]
    assert ("differential-privacy" in matter["tags"]) == (name not in ("none", "unread"))
    assert not {"license", "license_link"} & set(matter)
    assert body.startswith("\n# Synthetic graph job")


def test_what_the_publisher_says_is_there_and_nothing_else():
    said = Publication(
        title='Mail: "2024"',
        publisher="City\nHospital",
        license="https://creativecommons.org/licenses/by/4.0/",
        intended_use="Teaching | research",
    )
    matter, body = parts(card(reports.static(), said))
    assert matter["pretty_name"] == 'Mail: "2024"'
    assert (matter["license"], matter["license_link"]) == ("other", said.license)
    assert "Published by City Hospital." in body
    assert "Teaching &#124; research" in body
    bare = card(reports.static())
    assert not [words for words in ("Published by", "Intended use") if words in bare]


@pytest.mark.parametrize(
    ("edges", "size"), [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (10**9, "1B<n<10B")]
)
def test_the_size_is_that_of_the_edge_table(edges: int, size: str):
    part = reports.static()
    relation = part.statistics.edge_types[0].model_copy(update={"edges": edges})
    statistics = part.statistics.model_copy(update={"edge_types": (relation,)})
    assert parts(card(part.model_copy(update={"statistics": statistics})))[0]["size_categories"] == [size]


def test_hostile_names_start_nothing():
    matter, body = parts(card(reports.hostile(), Publication(title=reports.HOSTILE)))
    assert matter["pretty_name"] == plain(reports.HOSTILE)
    tokens = PARSER.parse(body)
    found = [child for token in tokens for child in token.children or []]
    assert not [token for token in tokens if token.type == "html_block"]
    assert {token.type for token in found} <= {"text", "text_special", "softbreak"}
    assert [token.type for token in tokens].count("heading_open") == 5


def test_a_release_without_guarantee_says_so():
    body = parts(card(reports.unbounded()))[1]
    assert "No privacy guarantee: the method read the raw graph." in body
    assert "| Epsilon | none |" in body


def test_neither_charge_nor_clock_is_in_it():
    part = reports.static()
    assert card(part) == card(part.model_copy(update={"charge": reports.charge()}))


def test_it_shows_precision_in_units_and_no_grade():
    body = parts(card(reports.static()))[1]
    assert "| edges (mail) | ± 30 | 95% | 100 |" in body
    assert "of 10" not in body
    assert "score" not in body.lower()
