"""What a release promises and cost. It has the summary, predicted precision, the guarantee, and the
charge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from core.privacy.accounting.guarantee import MARK, rounded_up
from core.reports import precision, risk
from core.reports.base import EXPOSED, Notice
from core.reports.blocks import (
    Block,
    Cell,
    Drawn,
    Facts,
    Fold,
    Group,
    Items,
    Paragraph,
    Pictures,
    Rating,
    Section,
    Share,
    Table,
    Text,
)
from core.reports.evidence import CuratorPart
from core.reports.html import charts, figures, wording
from core.reports.model import GuaranteePart, PublicPart
from core.reports.statistics import MetricInfo
from graphveil.models.reports import Precision, quantity_of, subject_of
from graphveil.pages.numbers import at_most, nano, percent_text, plain

GLANCED = 5
SHOWN_NOTICES = 4
ALERT = Paragraph(EXPOSED, "The account is exposed.", "alert")


def summary(public: PublicPart, curator: CuratorPart | None, metrics: dict[str, MetricInfo]) -> Section:
    """Say what is promised, scored and released. It is how the release scores or how precise it is, and what
    it consists of."""
    cards: list[Block] = [Group(list(_promise(public.guarantee)), title="The promise")]
    if curator is None:
        named = [
            precision_table(public.precision[:GLANCED]),
            Paragraph(
                MARK
                if public.guarantee.kind == "unread"
                else "Of the figures that the release paid for, from their noise alone. How close the graph "
                "itself is to the original cannot be told without the original.",
                style="small",
            ),
        ]
        cards.append(Group(named, title="Predicted precision"))
    else:
        cards += _ratings(public, curator)
    exposed = public.charge is not None and public.charge.exposed
    blocks: list[Block] = [ALERT] if exposed else []
    blocks.append(Group(cards, "scores"))
    blocks += [
        Paragraph(each.text, "Read this first.", "alert")
        for each in public.caveats
        if each.code in wording.SEVERE
    ]
    blocks.append(_facts(public))
    comparison = None if curator is None else curator.comparison
    blocks.append(Pictures(partial(figures.drawing_figures, public.statistics, comparison), wide=True))
    if curator is not None and curator.warnings:
        blocks.append(
            Group(list(_grouped(curator.warnings, metrics)), "card warnings", "Warnings for curators")
        )
    return Section("summary", "At a glance", blocks, curator is not None)


def _promise(given: GuaranteePart) -> Iterator[Block]:
    bounds, shown = wording.together(given), wording.short_guarantee(given)
    level = wording.promise_level(given)
    none = given.kind == "none"
    yield Paragraph("No privacy guarantee" if none else shown, style=f"big {level}")
    if not bounds:
        yield Paragraph("Nothing bounds what an attacker learns from this release.")
        return
    unknown, _, guessed = wording.guess_words(given)
    yield Paragraph(
        f"Whoever knows everything except {unknown} and guesses {guessed} is right with probability at most "
        f"{at_most(bounds[0].right)}."
    )
    yield Drawn(charts.gauge("certainty", "How sure an attacker can become", bounds[0].right, level))


def _ratings(public: PublicPart, curator: CuratorPart) -> Iterator[Block]:
    """Rate utility and protection, as measured. Without a guarantee no protection is coloured as any."""
    unbounded = public.guarantee.kind == "none"
    found = (
        ("Utility", "0 is a random graph, 10 the original", curator.scores.utility, False),
        ("Protection", "Guaranteed bound, and what attacks found", curator.scores.protection, unbounded),
    )
    for title, basis, score, poor in found:
        dial = None
        if score is not None:
            colour = "poor" if poor else wording.level(score.value / 10)
            dial = charts.dial(f"score-{title.lower()}", title, score.value, colour)
        yield Group([Rating(title, basis, score, dial, poor)], title=title)


def _facts(public: PublicPart) -> Facts:
    statistics, files = public.statistics, public.provenance.artifacts
    kinds = [f"{kind} {plain(count)}" for kind, count in statistics.nodes.items()]
    copied = any(relation.copied for relation in statistics.edge_types)
    steps, described = statistics.steps, "no time grid"
    if steps is not None:
        seen = statistics.steps_evaluated
        described = "all described" if seen >= steps else f"{seen} of them described"
    edges = sum(relation.edges for relation in statistics.edge_types)
    return Facts(
        [
            ("Nodes", Text(plain(sum(statistics.nodes.values())), _first(kinds, "types"))),
            ("Edges", Text(plain(edges), "synthetic" + (", and relations copied as public" * copied))),
            (
                "Relations",
                Text(
                    str(len(statistics.edge_types)), _first([each.name for each in statistics.edge_types], "")
                ),
            ),
            ("Snapshots", Text("static" if steps is None else plain(steps), described)),
            ("Method", Text(public.provenance.method_title, f"assurance: {public.guarantee.assurance}")),
            ("Files", Text(str(len(files)), "listed with their digests under Provenance")),
        ]
    )


def _first(names: Sequence[str], of: str, most: int = 4) -> str:
    rest = f" … {len(names)} {of}".rstrip() if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def notices(found: Iterable[Notice], metrics: dict[str, MetricInfo]) -> Items:
    """List notices, each with what it is about and its code."""
    texts = []
    for each in found:
        metric = each.metric and (metrics[each.metric].title if each.metric in metrics else each.metric)
        about = ", ".join(filter(None, (each.edge_type, metric)))
        texts.append(f"{about}: {each.text} ({each.code})" if about else f"{each.text} ({each.code})")
    return Items(texts)


def _grouped(found: Iterable[Notice], metrics: dict[str, MetricInfo]) -> Iterator[Block]:
    by_code: dict[str, list[Notice]] = {}
    for notice in found:
        by_code.setdefault(notice.code, []).append(notice)
    for code, each in by_code.items():
        yield notices(each[:SHOWN_NOTICES], metrics)
        if rest := each[SHOWN_NOTICES:]:
            yield Fold(Text(f"{len(rest)} more of {code}"), [notices(rest, metrics)])


def precision_table(found: Sequence[Precision]) -> Block:
    """Say how near paid figures are to the truth, a row each."""
    if not found:
        return Paragraph("No figure was paid for whose precision is known beforehand.")
    return Table(
        "Predicted precision",
        ("Quantity", "Within", "Confidence", "In the release"),
        [
            (Text(quantity_of(p), subject_of(p)), f"± {plain(p.within)}", f"{p.confidence:.0%}", p.released)
            for p in found
        ],
        most=12,
    )


def precision_sections(public: PublicPart, curator: CuratorPart | None) -> Iterator[Section]:
    """Say how near paid figures are to the truth. Curators read how near they really were."""
    if public.precision:
        blocks = [Paragraph(precision.NOTE), precision_table(public.precision)]
        yield Section("precision", "Predicted precision", blocks)
    if curator is not None and curator.paid:
        rows = [
            (
                Text(p.quantity, f"{subject_of(p)}, {plain(p.values)} number{'s' * (p.values != 1)}"),
                p.predicted,
                p.actual,
                Share(p.held),
                p.synthetic,
            )
            for p in curator.paid
        ]
        text = Paragraph(
            "Of the numbers that are published with the release, and of the same numbers counted in the "
            "synthetic graph instead: means of how far they are from the original's. Where the last column "
            "is larger, take the published numbers."
        )
        columns = ("Quantity", "Predicted", "Actual", "In the interval", "Synthetic graph")
        title = "Predicted noise beside the actual error"
        yield Section("actual", title, [text, Table(title, columns, rows)], curators=True)


def guarantee(public: PublicPart, metrics: dict[str, MetricInfo]) -> Section:
    """Say what is promised in plain words. It is said to the letter, of several units, and what is not
    covered."""
    # What a reader must not miss comes first.
    severe = [each for each in public.caveats if each.code in wording.SEVERE]
    caveats = [*severe, *(each for each in public.caveats if each not in severe)]
    uncovered: list[Block] = [Group([notices(caveats, metrics)], title="What it does not cover")]
    bounds = wording.together(public.guarantee)
    if bounds and public.guarantee.kind != "unread":
        approximate = ("Delta",) * bool(bounds[0].delta)
        rows = [
            (
                row.units,
                f"{row.epsilon:f}",
                *((rounded_up(row.delta),) if approximate else ()),
                at_most(row.right),
            )
            for row in bounds
        ]
        columns = ("Units", "Epsilon", *approximate, "Best guess right, at most")
        text = Paragraph("The promise weakens when somebody asks about several units together:")
        title = "Several units at once"
        uncovered.append(Group([text, Table(title, columns, rows)], title=title))
    said = Group(list(_said(public.guarantee)))
    blocks: list[Block] = [Group([said, Group(uncovered, "stack")], "columns"), *_risk(public)]
    return Section("guarantee", "The guarantee", blocks)


def _said(given: GuaranteePart) -> Iterator[Block]:
    bounds = wording.together(given)
    name, meaning = wording.unit_words(given)
    unknown, choices, _ = wording.guess_words(given)
    if not bounds:
        yield Paragraph("No privacy guarantee", style="big danger")
        yield from map(Paragraph, given.reasons)
        if given.claimed is not None:
            claim = given.claimed
            yield Paragraph(
                f"Claimed by {claim.source}, not proven here and not a guarantee of this release: epsilon "
                f"{claim.epsilon or 'none'}, delta {claim.delta or 'none'}. {claim.remark or ''}".rstrip()
            )
    else:
        kinds = {"pure": ", pure differential privacy", "approximate": ", approximate differential privacy"}
        yield Paragraph(f"{wording.short_guarantee(given)}{kinds.get(given.kind, '')}", style="big")
    if bounds and given.kind != "unread":
        relied = wording.reliance(given)
        plainly = (
            f"What is protected is {name}: {meaning}. Suppose that somebody knows the whole original except "
            f"for {unknown}, and holds {choices} equally likely. After reading this release, whatever they "
            f"compute, their best guess is right with probability at most {at_most(bounds[0].right)}. A coin "
            "flip is right with 50 %."
        )
        title = "What one person can rely on" if relied else "In plain words"
        yield Group([Paragraph(text) for text in relied or (plainly,)], "", title)
    yield Group([Paragraph(given.statement, style="quote")], "", "The statement, to be quoted")
    window = "" if given.window is None else f", {given.window} snapshots"
    hidden = f", protected node type {given.protected_type}" if given.protected_type else ""
    amounts = f"epsilon {given.epsilon or 'none'}, delta {given.delta or 'none'}"
    exact = f"Kind {given.kind}, {amounts}, unit {given.unit.value}{window}{hidden}; {given.assurance}."
    yield Paragraph(exact, style="small")
    if bounds and given.kind != "unread":
        checked = wording.ASSURANCE.get(given.assurance, "")
        yield Paragraph(" ".join(filter(None, (checked, *given.noise))), style="small")


def _risk(public: PublicPart) -> Iterator[Block]:
    """Say what somebody can learn of one unit, for each belief, by the guarantee alone."""
    found = risk.learned(public)
    if not found:
        return
    unknown, _, guessed = wording.guess_words(public.guarantee)
    there = ": that it is there, or that it is not" if guessed == "whether it is there" else ""
    delta = ""
    # The last row is of the most: where it has no delta, no row has.
    if found[-1].delta != "0":
        delta = (
            f"; under a delta, of claims that would come up in at least {percent_text(risk.RAREST)} of "
            "releases if they were wrong: of rarer ones delta says less"
        )
    blocks: list[Block] = [
        Paragraph(
            f"Somebody knows everything else in the original, and holds a claim about {unknown} as likely as "
            f"the head of a column says{there}. After reading, they can hold it at most as likely as stands "
            f"below, whatever they know and compute{delta}. That follows from the guarantee alone; no attack "
            "was run."
        ),
        risk_table(public),
    ]
    if (charge := public.charge) is not None and charge.exposed:
        blocks.append(
            Paragraph("The account is exposed: nothing bounds what all of its releases tell together.")
        )
    elif charge is not None and charge.remaining_epsilon is not None:
        blocks.append(
            Paragraph(
                f"After this release, ε {charge.remaining_epsilon} remains for others. What they tell adds "
                "to what this one told."
            )
        )
    beliefs = [step / 50 for step in range(51)]
    series = [risk.at(beliefs, row.epsilon, row.delta) for row in found]
    description = "Above the diagonal, which is to learn nothing: a line for each row of the table."
    svg = charts.posteriors("learned", "How likely a claim can become", description, series)
    keys = [(f"type-{index}", row.title) for index, row in enumerate(found)]
    picture = Drawn(svg, [*keys, ("guess", "Nothing learned")], "")
    title = f"What somebody can learn of {wording.unit_words(public.guarantee)[0]}"
    yield Group([Group([Group(blocks, "stack"), picture], "columns")], "card", title, "risk")


def risk_table(public: PublicPart) -> Table:
    """Bound how likely a claim can become, from how likely it was."""
    rows: list[list[Cell]] = []
    for row in risk.learned(public):
        spent = f"ε {row.epsilon}" + (f", δ {row.delta}" if row.delta != "0" else "")
        rows.append([Text(row.title, spent), *map(at_most, row.after)])
    return Table("What somebody can learn", ("Held likely before", *map(percent_text, risk.PRIORS)), rows)


def cost(public: PublicPart) -> Section:
    """Say what was charged and what remains. What the plan spends on each snapshot is said, too."""
    charge, transcript = public.charge, public.transcript
    blocks: list[Block] = []
    if charge is None:
        served = (
            "The charge is filled in when the report is served by the service that holds the budget account."
        )
        blocks.append(Paragraph(served))
    else:
        charged, left = charge.charged_epsilon, charge.remaining_epsilon
        facts = [
            (
                "Charged",
                Text("nothing" if charged is None else f"ε {charged}", f"to account {charge.account_id}"),
            ),
            ("Remaining", Text("–" if left is None else f"ε {left}", "when this report was served")),
            ("Filter", Text(charge.filter, "how releases of one account add up")),
        ]
        if charge.charged_at is not None:
            facts.append(("Charged at", Text(f"{charge.charged_at[:16].replace('T', ' ')} UTC")))
        blocks += [Facts(facts), *([ALERT] if charge.exposed else [])]
    if steps := transcript.per_step_nano_epsilon:
        low, high = nano(min(steps)), nano(max(steps))
        spent = f"ε {low}" if low == high else f"between ε {low} and ε {high}"
        untimed = transcript.untimed_nano_epsilon
        rest = f", and ε {nano(untimed)} on relations without time" if untimed else ""
        blocks.append(Paragraph(f"The plan spends {spent} on each of {plain(len(steps))} snapshots{rest}."))
    return Section("cost", "What it cost", blocks)
