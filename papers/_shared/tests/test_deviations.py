"""Every paper that says what it states: its preset has those values, and its page what differs by default."""

import importlib

import pytest

from core.methods.registry import generators
from docs.build import DOCS, stated
from papers._shared.deviations import deviating, table


def test_papers_are_found():
    assert "psgraph" in stated()


@pytest.mark.parametrize("paper", stated())
def test_what_a_paper_states(paper):
    said = importlib.import_module(f"papers.{paper}.stated")
    model = generators()[paper].Params
    assert deviating(model.model_validate(said.PAPER), said.STATED) == []
    assert set(deviating(model(), said.STATED)) == set(said.REASONS)
    page = (DOCS / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    shown = table(model(), said.STATED, said.REASONS)
    assert f"<!-- deviations -->\n\n{shown}\n<!-- /deviations -->" in page
