"""The report as Markdown: complete in both editions, and nothing in it is more than the text it was."""

from __future__ import annotations

import re
import shlex
from html import unescape

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.reports.html import render
from core.reports.markdown import CURATOR_BANNER, PUBLIC_BANNER, markdown
from core.reports.model import PublicPart, Report
from core.reports.reproduction import command
from core.reports.text import escape, fenced, number, plain, quoted, table
from tests.support import reports

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
INERT = {"text", "softbreak", "code_inline", "strong_open", "strong_close", "text_special"}


def full(part: PublicPart, *, curator: bool, name: str = "mail") -> Report:
    return Report(
        public=part.model_copy(update={"charge": reports.charge()}),
        curator=reports.curator(name) if curator else None,
    )


def inline(text: str) -> list[Token]:
    return [child for token in PARSER.parse(text) for child in token.children or []]


def shown(text: str) -> str:
    """What a reader sees of Markdown that holds text only."""
    found = inline(text)
    assert {token.type for token in found} <= {"text", "text_special"}, found
    return "".join(token.content for token in found)


def titles(text: str) -> list[str]:
    tokens = PARSER.parse(text)
    return [
        tokens[i + 1].content for i, token in enumerate(tokens) if token.markup == "##" and token.nesting == 1
    ]


@given(st.text(max_size=60))
@example(reports.HOSTILE)
@example("1. one")
@example("- one")
@example("_a_ snake_case __b__")
@example("https://h.example &lt; &amp;")
@example("    indented\n===")
@example("\ud800 half a character")
def test_an_escaped_text_shows_as_it_is_wherever_it_stands(text: str):
    expected = plain(text)
    assert "\n" not in escape(text)
    assert shown(escape(text)) == expected
    assert shown(f"- {escape(text)}") == expected
    cells = "\n".join(table(("column",), [(text,)]))
    tokens = [token for token in PARSER.parse(cells) if token.type == "inline"]
    assert ["".join(child.content for child in token.children or []) for token in tokens] == [
        "column",
        expected,
    ]


@given(st.text(max_size=60))
def test_a_quoted_text_is_one_yaml_scalar(text: str):
    assert yaml.safe_load(f"name: {quoted(text)}") == {"name": plain(text)}


@given(st.text(alphabet="`~a\n", max_size=30))
def test_no_code_ends_its_own_block(code: str):
    tokens = PARSER.parse("\n".join(fenced(code)))
    assert [token.type for token in tokens] == ["fence"]


def test_numbers_are_short_and_whole_ones_whole():
    assert [number(v) for v in (None, 3, 3.0, 0.123456, 1e-9, -2.5, 96_753.4, -1_614_000.5, 2.5e15)] == [
        "–",
        "3",
        "3",
        "0.1235",
        "1e-09",
        "-2.5",
        "96753",
        "-1614000",
        "2.5e+15",
    ]


def test_a_table_without_rows_is_not_there():
    assert table(("a", "b"), []) == []


@pytest.mark.parametrize("name", reports.EVERY_PART)
def test_every_edition_has_its_sections_and_its_banner(name: str):
    part = reports.EVERY_PART[name]()
    public, curators = (markdown(full(part, curator=c)) for c in (False, True))
    common = [
        "At a glance",
        "Predicted precision",
        "The guarantee",
        "What it cost",
        "The synthetic graph",
        "Metrics",
        "What was asked of the private graph",
        "Parameters",
        "Provenance",
        "Ask for it again",
        "What the metrics mean",
    ]
    assert titles(public) == common
    assert ("### What somebody can learn of one" in public) == (part.guarantee.kind != "none")
    assert "### What it does not cover" in public
    only = " (curators only)"
    of_curators = {"At a glance", "The synthetic graph", "Metrics"}
    told = [f"{title}{only}" if title in of_curators else title for title in common]
    told[6:6] = [f"Attacks{only}", f"Tasks{only}"]
    assert titles(curators) == told
    for words in ("### Warnings for curators", "All relations as one graph", "Node type mail"):
        assert words in curators
        assert words not in public
    for text, curator in ((public, False), (curators, True)):
        page = render(full(part, curator=curator))
        assert sorted(re.findall("<h2>([^<]*)</h2>", page)) == sorted(titles(text))
        tables = re.sub("<figure>.*?</figure>", "", page, flags=re.DOTALL)
        names = [
            unescape(re.sub("<[^>]*>", "", name))
            for name in re.findall('<th scope="row"[^>]*>([^<]*)', tables)
        ]
        assert [name for name in names if escape(name.strip()) not in text] == []
    assert PUBLIC_BANNER in public
    assert CURATOR_BANNER not in public
    assert CURATOR_BANNER in curators
    assert PUBLIC_BANNER not in curators
    assert public.endswith("Report schema 3.0.\n")


def test_only_the_curators_edition_holds_their_figures():
    part = reports.static()
    public, curators = (markdown(full(part, curator=c)) for c in (False, True))
    for figure in reports.CURATORS_ONLY[:4]:
        assert f"{figure:.3f}" in curators or number(figure) in curators
        assert f"{figure:.3f}" not in public
        assert number(figure) not in public
    for words in ("Common neighbours", "0.015", "0.707 (0.600 to 0.800)", "Not run:", "Link prediction"):
        assert words in curators
        assert words not in public


def test_a_release_without_guarantee_says_why_and_calls_a_claim_a_claim():
    text = markdown(full(reports.unbounded(), curator=False))
    assert "The walks are drawn from the raw graph." in text
    assert "Claimed by The paper, Theorem 4.1, not proven here" in text
    assert "**No privacy guarantee**" in text


@pytest.mark.parametrize("status", ["pending", "failed", "erased"])
def test_a_curator_is_told_why_there_is_no_comparison(status: str):
    text = markdown(full(reports.static(), curator=False), evaluation=status)
    assert text.count("> The comparison with the original") == 1
    assert markdown(full(reports.static(), curator=False)).count("> The comparison") == 0


@pytest.mark.parametrize("curator", [False, True])
def test_hostile_names_start_nothing(curator: bool):
    text = markdown(full(reports.hostile(), curator=curator, name=reports.HOSTILE))
    tokens = PARSER.parse(text)
    assert not [token for token in tokens if token.type == "html_block"]
    found = inline(text)
    assert {token.type for token in found} <= INERT
    assert {token.content for token in found if token.type == "code_inline"} == {
        "graphveil plan",
        "graphveil sample",
    }
    assert [token.type for token in tokens].count("fence") == 1
    widths = {len(row) for row in _rows(tokens)}
    assert 0 not in widths
    assert plain(reports.HOSTILE) in "".join(token.content for token in found)


def _rows(tokens: list[Token]) -> list[list[str]]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("td_open", "th_open"):
            rows[-1].append(token.tag)
    return rows


def test_the_same_report_is_the_same_text():
    assert markdown(full(reports.temporal(), curator=True)) == markdown(
        full(reports.temporal(), curator=True)
    )


def test_the_command_is_one_line_for_a_shell():
    words = shlex.split(command(reports.hostile()))
    assert words[:3] == ["graphveil", "submit", reports.hostile().provenance.dataset_id]
    assert words[words.index("--edge-type") + 1] == reports.HOSTILE
    assert words[words.index("--delta") + 1] == "0.000001"
    assert shlex.split(command(reports.static()))[3:] == [
        *("--epsilon", "1.5", "--method", "psgraph", "--parameter", "chain=16"),
        *("--edge-type", "mail", "--parameter", 'speed="fast"', "--repeat"),
    ]
    assert "EPSILON" in command(reports.unbounded())


def test_a_further_sample_says_so_and_asks_for_the_next_at_no_charge():
    report = reports.static()
    provenance = report.provenance.model_copy(update={"sample_of": "job_parent"})
    sample = report.model_copy(update={"provenance": provenance})
    assert command(sample) == "graphveil sample job_parent"
    text = markdown(full(sample, curator=False))
    assert "Further sample of job" in text
    assert "charged nothing" in text
    assert "`graphveil sample` with this job's id" in markdown(full(report, curator=False))
