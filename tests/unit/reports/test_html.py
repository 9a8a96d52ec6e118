"""The report's page: whole, closed in itself, honest about its edition, and texts in it stay texts."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser
from typing import Any

import pytest
from jinja2 import StrictUndefined

from core.reports.base import Notice
from core.reports.comparison import MetaPathShares
from core.reports.html import render
from core.reports.html.render import environment_of
from core.reports.html.wording import right_at_most, together
from core.reports.markdown import markdown
from core.reports.model import Charge, GuaranteePart, PublicPart, Report
from core.reports.reproduction import command
from core.reports.sections.graph import MAX_CHARTED
from tests.support import report_parts as parts

VOID = {"meta", "br", "hr", "img", "input", "link"}
BANNER = "Contains figures of the private graph: not for publication."
HOSTILE = "<script>alert(1)</script>'\"><img src=x onerror=alert(2)>&amp;{{ 7*7 }}"
DRAWING = {
    "nodes": [{"type": "user", "x": 0.1, "y": 0.2}, {"type": "user", "x": 0.9, "y": 0.4}],
    "edges": [[0, 1]],
}


class Page(HTMLParser):
    """A page whose tags must close in order; collects what the tests ask about."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.tags if "id" in attributes]


def page(report: Report, **options: Any) -> Page:
    found = Page(render(report, **options))
    assert found.open == []
    return found


def static() -> PublicPart:
    return parts.public_part([parts.relation("knows", None, 120)])


def temporal() -> PublicPart:
    return parts.public_part([parts.relation("knows", 7, 120)], steps=7)


def heterogeneous() -> PublicPart:
    likes = parts.relation("likes", None, 30, target="movie", copied=True)
    ends = [likes["degrees"][0] | {"side": side} for side in ("source", "target")]
    part = parts.public_part([parts.relation("knows", 5, 90), likes | {"degrees": ends}], steps=5)
    statistics = part.statistics.model_copy(update={"nodes": {"user": 100, "movie": 40}})
    return part.model_copy(update={"statistics": statistics})


def empty() -> PublicPart:
    return parts.public_part([parts.relation("knows", None, 0)])


def tiny() -> PublicPart:
    part = parts.public_part([parts.relation("knows", None, 1)])
    drawn = type(part.statistics).model_validate(part.statistics.model_dump() | {"drawing": DRAWING})
    return part.model_copy(update={"statistics": drawn})


def unbounded() -> PublicPart:
    promise = parts.guarantee(
        kind="none",
        epsilon=None,
        delta=None,
        statement="No privacy guarantee.",
        reasons=["The method reads the raw graph."],
        claimed={"epsilon": "1", "delta": "0", "source": "The paper"},
    )
    return parts.public_part([parts.relation("knows", None, 120)], promise=promise)


KINDS = {made.__name__: made for made in (static, temporal, heterogeneous, empty, tiny, unbounded)}
every = pytest.mark.parametrize("part", [made() for made in KINDS.values()], ids=KINDS)


def whole(part: PublicPart) -> dict[str, Any]:
    """The comparison of all relations as one graph, with two lengths of meta-paths."""
    rows = [parts.compared_row(row.step, row.scalars) for row in part.statistics.edge_types[0].rows]
    return {
        "rows": rows,
        "means": rows[0] | {"step": None},
        "sequences": {"thepuff_degree_mmd": 0.5, "thepuff_degree_mmd_self": 0.25},
        "node_types": [{"name": "user", "distances": {"degree_total_variation": 0.3}}],
        "meta_paths": [
            {"path": "user-user", "length": 2, "original": 0.75, "synthetic": 0.5},
            {"path": "user-movie-user", "length": 3, "original": None, "synthetic": 1.0},
        ],
    }


def curators(part: PublicPart) -> Report:
    compared = parts.comparison(part, whole=whole(part), drawing=DRAWING)
    idle = parts.attack(0.5, title="SEAL", published=None, reference=None, not_run="Too few links.")
    attacked = parts.attacks(parts.attack(0.6543), idle)
    done = (parts.task(0.9, 0.7), parts.task(None, None, title="Labels", not_run="No label is declared."))
    warning = Notice(code="tiny_snapshot", text="Few edges.", edge_type="knows")
    return parts.report(part, parts.curator_part(part, compared, attacked, done, warnings=(warning,)))


@every
def test_both_editions_are_whole_and_closed_in_themselves(part):
    for report in (parts.report(part), curators(part)):
        found = page(report)
        assert len(found.ids()) == len(set(found.ids()))
        for tag, attributes in found.tags:
            assert tag not in ("script", "link", "img", "iframe", "object", "use", "image", "form")
            assert not {name for name in attributes if name.startswith("on") or name in ("src", "style")}
            if "href" in attributes:
                assert str(attributes["href"]).removeprefix("#") in found.ids()
        text = render(report)
        assert not re.search(r"https?://|url\(|@import|//[a-z]", text)
        assert "None" not in found.words
        assert "nan" not in text.lower().split()


@every
def test_every_picture_has_a_title_and_a_description_of_its_own(part):
    for report in (parts.report(part), curators(part)):
        text = render(report)
        pictures = re.findall(r"<svg .*?</svg>", text, re.DOTALL)
        assert pictures
        for picture in pictures:
            named = re.match(
                r'<svg viewBox="[\d. -]+" role="img" aria-labelledby="(\S+) (\S+)">'
                r'<title id="(\S+)">[^<]+</title><desc id="(\S+)">[^<]+</desc><',
                picture,
            )
            assert named, picture[:200]
            assert named.groups()[:2] == named.groups()[2:]


@every
def test_the_public_edition_knows_nothing_of_the_original(part):
    text = render(parts.report(part))
    curated = render(curators(part))
    for figure in (
        "314.159",
        "0.6543",
        "0.654",
        "SEAL",
        "Common neighbours",
        "Link prediction",
        "tiny_snapshot",
    ):
        assert figure not in text
        assert figure in curated or not part.statistics.edge_types[0].edges
    assert BANNER not in text
    assert BANNER in curated
    assert "Public edition" in text
    assert "Curators’ edition" in curated
    assert 'class="mark original"' not in text
    assert 'class="key original"' not in text


@every
def test_the_same_report_gives_the_same_bytes(part):
    assert render(curators(part)) == render(curators(part))


def test_the_templates_refuse_what_is_not_there():
    assert environment_of().undefined is StrictUndefined
    assert environment_of().autoescape is True


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("pending", "is not ready yet"),
        ("failed", "The comparison with the original failed"),
        ("erased", "was erased with the dataset"),
    ],
)
def test_a_curator_is_told_why_the_comparison_is_missing(status, words):
    assert words in page(parts.report(static()), evaluation=status).words
    assert words not in page(parts.report(static())).words
    assert words not in page(curators(static()), evaluation=status).words


def test_hostile_names_stay_text():
    relation = parts.relation(HOSTILE, 3, 50, source=HOSTILE, target=HOSTILE, directed=True)
    part = parts.public_part(
        [relation],
        steps=3,
        purposes=[parts.purpose("discrete_laplace/edge_count", 10**8, HOSTILE, purpose=HOSTILE)],
        parameters={HOSTILE: HOSTILE, "edge_types": [HOSTILE]},
        promise=parts.guarantee(unit="event", statement=HOSTILE, noise=[HOSTILE], assurance=HOSTILE),
        caveats=[{"code": "large_epsilon", "text": HOSTILE, "edge_type": HOSTILE, "metric": "edges"}],
    )
    statistics = part.statistics.model_copy(update={"nodes": {HOSTILE: 100}})
    named = {"job_id": HOSTILE, "dataset_id": HOSTILE, "method": HOSTILE, "method_title": HOSTILE}
    provenance = part.provenance.model_copy(update={**named, "libraries": {HOSTILE: HOSTILE}})
    part = part.model_copy(update={"statistics": statistics, "provenance": provenance})
    shares = MetaPathShares(path=HOSTILE, length=2, original=0.5, synthetic=0.5)
    joined = parts.comparison(part, whole=whole(part) | {"meta_paths": [shares]})
    attacked = parts.attacks(
        parts.attack(0.6, title=HOSTILE, knowledge=HOSTILE, edge_type=HOSTILE),
        parts.attack(0.6, published=None, not_run=HOSTILE),
    )
    done = (parts.task(0.9, 0.7, title=HOSTILE, definition=HOSTILE, subject=HOSTILE),)
    curator = parts.curator_part(
        part, joined, attacked, done, warnings=(Notice(code="tiny_snapshot", text=HOSTILE),)
    )
    found = page(parts.report(part, curator))
    assert not {"script", "img"} & {tag for tag, _ in found.tags}
    assert "onerror" not in {name for _, attributes in found.tags for name in attributes}
    assert found.words.count("<script>alert(1)</script>") > 20
    assert "{{ 7*7 }}" in found.words


def test_a_release_without_guarantee_says_so_first():
    found = page(parts.report(unbounded()))
    assert "No guarantee" in found.words
    assert "No privacy guarantee The method reads the raw graph." in found.words
    assert "not a guarantee of this release" in found.words
    section = found.words.split("The guarantee")[1].split("What it cost")[0]
    assert not [words for words in ("at most", "proof is complete", "coin flip") if words in section]


@pytest.mark.parametrize(
    ("unit", "window", "words"),
    [
        ("edge", None, "one relation between two nodes"),
        ("event", None, "one edge in one snapshot"),
        ("w-event", 5, "all changes within 5 consecutive snapshots"),
        ("pair", None, "everything between two nodes"),
        ("node", None, "A person here is a node of the protected type"),
    ],
)
def test_the_guarantee_is_said_in_plain_words(unit, window, words):
    promise = parts.guarantee(unit=unit, window=window)
    found = page(parts.report(parts.public_part([parts.relation("knows", 2, 9)], steps=2, promise=promise)))
    assert words in found.words
    assert "at most 73.2 %" in found.words  # 73.106: a bound is never rounded below itself
    assert ("guesses which of two lists they are" in found.words) == (unit == "node")
    assert ("guesses whether it is there" in found.words) == (unit != "node")


def test_a_person_reads_what_they_can_rely_on_in_both_forms_of_the_report():
    relation = parts.relation("has", 2, 9)
    promise = parts.guarantee(unit="node", kind="approximate", delta="0.000001", protected_type="patient")
    report = parts.report(parts.public_part([relation], promise=promise))
    for words in (page(report).words, markdown(report).replace("\\", "")):
        section = words.split("What one person can rely on")[1]
        assert "A person here is a node of the protected type, patient." in section
        assert f"e^{promise['epsilon']} and a probability of 0.000001 beside" in section
        assert "with probability at most 73.2" in section
        assert "are drawn anew and are nobody's" in section
    others = parts.public_part([relation], promise=parts.guarantee(unit="pair"))
    assert "person" not in page(parts.report(others)).words


def test_the_bound_on_a_guess_and_on_several_units():
    assert right_at_most(0, 0) == 0.5
    assert right_at_most(1, 0) == pytest.approx(0.7310585786)
    assert right_at_most(0, 0.1) == pytest.approx(0.55)
    assert right_at_most(700, 0) == 1
    promise = GuaranteePart.model_validate(parts.guarantee(kind="approximate", delta="0.001"))
    found = {row.units: row for row in together(promise)}
    assert found[2].epsilon == 2
    assert found[2].right == pytest.approx(right_at_most(2, 0.001 * (1 + 2.718281828)))
    assert [row.right for row in found.values()] == sorted(row.right for row in found.values())
    huge = GuaranteePart.model_validate(parts.guarantee(kind="approximate", epsilon="1000", delta="0.001"))
    assert together(huge)[-1].right == 1


def test_several_units_of_an_approximate_promise_show_their_delta_rounded_up():
    promise = parts.guarantee(kind="approximate", delta="0.000001234")
    found = page(parts.report(parts.public_part([parts.relation("knows", None, 9)], promise=promise))).words
    table = found.split("Several units at once")[1]
    assert "Units Epsilon Delta Best guess right, at most 1 1 1.24e-6 73.2 %" in table
    assert "2 2 4.59e-6 88.1 %" in table  # (1 + e) 1.234e-6 = 4.5884e-6; e^2 / (1 + e^2) = .88080
    assert "Delta Best guess" not in page(parts.report(static())).words


def test_the_charge_is_told_where_it_is_known():
    part = static()
    assert "filled in when the report is served" in page(parts.report(part)).words
    charge = Charge(
        account_id="acc_1",
        filter="basic",
        charged={},
        remaining={},
        charged_epsilon="1",
        remaining_epsilon="2.5",
    )
    found = page(parts.report(part.model_copy(update={"charge": charge}))).words
    assert "ε 1 to account acc_1" in found
    assert "ε 2.5" in found


def test_the_command_is_the_one_that_asks_for_it_again():
    shown = re.search(r"<pre>(.*?)</pre>", render(parts.report(static())), re.DOTALL)
    assert shown
    lines = "".join(Page(shown[1]).text).replace("\\\n", " ")
    assert shlex.split(lines) == shlex.split(command(static()))


def test_very_many_relations_are_counted_and_not_drawn():
    many = parts.public_part([parts.relation(f"r{i}", None, 10 + i) for i in range(MAX_CHARTED + 3)])
    found = page(parts.report(many))
    assert "3 more relations have no figures here" in found.words
    assert sum(tag == "figure" for tag, _ in found.tags) == MAX_CHARTED
    assert all(f"r{i} " in found.words for i in range(MAX_CHARTED + 3))


def test_figures_stand_in_a_table_too():
    found = page(curators(temporal()))
    assert "Degree Nodes, original Nodes, synthetic" in found.words
    exact = {attributes.get("value") for tag, attributes in found.tags if tag == "data"}
    assert str(parts.ORIGINAL) in exact
    assert found.words.count("Snapshot Original Synthetic") >= 3


def test_the_dataset_is_called_by_its_name_and_by_its_identifier_where_none_is_known():
    part = static()
    assert "<h1>ds_1</h1>" in render(parts.report(part))
    named = part.provenance.model_copy(update={"dataset_name": "Contacts <2024>"})
    text = render(parts.report(part.model_copy(update={"provenance": named})))
    assert "<h1>Contacts &lt;2024&gt;</h1>" in text
    assert "<title>Contacts &lt;2024&gt;: report of release job_1" in text


def test_the_public_edition_shows_precision_in_units_and_no_grade():
    text = render(parts.report(static()))
    assert "± 30" in text
    assert "of 10" not in text
    assert "<meter" not in text
    assert "of 10" in render(curators(static()))


def test_without_a_guarantee_nothing_is_green():
    for report in (parts.report(unbounded()), curators(unbounded())):
        protection = render(report).split("<h3>Utility</h3>")
        assert 'class="hero unbounded"' in protection[0]
        assert 'class="big poor"' in protection[0]
        shown = protection[0] + "".join(rest.split("<h3>Protection</h3>")[1] for rest in protection[1:])
        body = shown.split("</style>")[1]
        assert not re.search(r'class="[^"]*\bgood\b', body)


@pytest.mark.parametrize(("epsilon", "level"), [("1", "good"), ("2", "fair"), ("4", "poor"), ("50", "poor")])
def test_the_promise_is_coloured_by_what_it_leaves(epsilon, level):
    promise = parts.guarantee(epsilon=epsilon)
    text = render(parts.report(parts.public_part([parts.relation("knows", None, 9)], promise=promise)))
    assert f'class="big {level}"' in text
    assert f'class="bar {level}"' in text


def test_a_dial_and_its_parts_are_coloured_by_their_values():
    part = static()
    low = {"degree_total_variation": (0.26, 0.0)}  # .25 of .26: next to nothing of the way
    compared = parts.comparison(part, anchors=parts.anchors(**low))
    text = render(parts.report(part, parts.curator_part(part, compared)))
    card = text.split("<h3>Utility</h3>")[1].split("</article>")[0]
    assert 'class="fill poor"' in card
    assert '<meter class="poor"' in card
    high = {"degree_total_variation": (1.0, 0.25)}
    compared = parts.comparison(part, anchors=parts.anchors(**high))
    text = render(parts.report(part, parts.curator_part(part, compared)))
    assert 'class="fill good"' in text.split("<h3>Utility</h3>")[1].split("</article>")[0]


def test_a_big_collection_folds():
    many = [
        parts.relation(f"graph-{i}", None, 10 + i, source=f"graph-{i}", target=f"graph-{i}")
        for i in range(200)
    ]
    rows = [parts.purpose("discrete_laplace/edge_count", 10**8, relation["name"]) for relation in many]
    part = parts.public_part(many, purposes=rows)
    nodes = part.statistics.model_copy(update={"nodes": {f"graph-{i}": 5 for i in range(200)}})
    text = render(parts.report(part.model_copy(update={"statistics": nodes})))
    unfolded = re.sub(r"<details(?: class=\"[^\"]*\")?>.*?</details>", "", text, flags=re.DOTALL)
    assert text.count("graph-150") >= 3
    assert "graph-150" not in unfolded.split("<pre>")[0]
    assert "188 more relations" in text
