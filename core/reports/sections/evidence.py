"""What only curators read. They are attacks on the release, attacks on hidden links, and tasks done with
it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from core.reports.blocks import (
    Block,
    Group,
    Items,
    Paragraph,
    Pictures,
    Section,
    Share,
    Span,
    Table,
    Terms,
    Text,
    cut,
)
from core.reports.evidence import (
    Attack,
    Attacks,
    CuratorPart,
    DegreeSignature,
    Interval,
    SensitiveAttack,
    SensitiveAttacks,
    Task,
)
from core.reports.html import figures
from core.reports.sensitive import said_of
from graphveil.pages.numbers import plain

MAX_ATTACKS = 200
MAX_TYPES_SHOWN = 12


def curator_sections(part: CuratorPart) -> Iterator[Section]:
    """Write every section that depends only on the original graph."""
    if part.attacks.sensitive is not None:
        blocks = list(_sensitive(part.attacks.sensitive))
        yield Section("sensitive", "Attacks on the hidden links", blocks, curators=True)
    yield Section("attacks", "Attacks", list(_attacks(part.attacks)), curators=True)
    yield Section("tasks", "Tasks", list(_tasks(part)), curators=True)


def _span(found: Interval | None, *, percent: bool = False) -> Span | None:
    return None if found is None else Span(found.value, found.low, found.high, percent)


def _pairs(found: Attack | SensitiveAttack) -> str:
    return f"{plain(found.positives)}\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}{plain(found.negatives)}"


def _missing(found: Sequence[Attack | SensitiveAttack | Task]) -> Items:
    texts = []
    for each in found:
        if each.not_run is not None:
            about = each.subject if isinstance(each, Task) else subject_of(each)
            texts.append(f"{each.title} on {about}: {each.not_run}")
    return Items(texts, "Not run:")


def subject_of(attack: Attack | SensitiveAttack) -> str:
    """Name what is attacked. It is a relation, who took part, or a node's features."""
    other = "persons" if attack.name.startswith("membership_") else "features"
    return attack.edge_type or other


def _known(found: Sequence[Attack | SensitiveAttack]) -> Group:
    terms = {each.title: each.knowledge for each in found}
    return Group(
        [Terms([(Text(title), text) for title, text in terms.items()])], title="What each attacker knows"
    )


def _attacks(found: Attacks) -> Iterator[Block]:
    yield Paragraph(
        "What attackers find in the release, judged by who knows the original, beside the same attack had "
        "the original itself been published. Good figures are evidence, not a guarantee: a release with "
        "wrong structure resists attacks too."
    )
    shown = found.inference[:MAX_ATTACKS]
    if shown:
        yield Group([Pictures(partial(figures.attack_figures, found.inference)), _known(shown)], "columns")
    run = [attack for attack in shown if attack.not_run is None]
    bounded = ("AUC at most",) * any(attack.bound is not None for attack in run)
    columns = ("Attack", "Targets", "AUC, release", *bounded, "AUC, original")
    rates = ("Found at 1 % false alarms", "Found at 0.1 % false alarms")
    rows = [_attack(each, bool(bounded)) for each in run]
    yield Table("Inference attacks", (*columns, *rates), rows)
    if run:
        yield Paragraph(
            "In brackets: 95 % confidence intervals. An AUC of 0.5 is guessing. Targets: true / others.",
            style="small",
        )
    if bounded:
        yield Paragraph(
            "AUC at most: the greatest that the guarantee leaves to any such attacker, whatever they know. "
            "Who took part is asked of a twin of the release, made by the same method at the same epsilon "
            "from the original without half of the persons asked for, since in the release itself everybody "
            "took part.",
            style="small",
        )
    yield _missing(shown)
    yield from cut(len(shown), len(found.inference), "attacks")
    if found.degree_signature is not None:
        yield from _signature(found.degree_signature)


def _attack(attack: Attack, bounded: bool) -> Sequence[Text | str | float | Span | None]:
    release, reference = attack.published, attack.reference
    return (
        Text(attack.title, attack.edge_type or ""),
        _pairs(attack),
        _span(release.auc if release else None),
        *((attack.bound,) if bounded else ()),
        _span(reference.auc if reference else None),
        _span(release.tpr_at_fpr_1e2 if release else None, percent=True),
        _span(release.tpr_at_fpr_1e3 if release else None, percent=True),
    )


def _signature(found: DegreeSignature) -> Iterator[Block]:
    yield Paragraph("Degree signature", style="heading")
    yield Paragraph(
        "Somebody knows how many relations a victim has and looks for that number in the release: the "
        "probability to pick the victim's node."
    )
    rows = [
        ("the degree in one snapshot", Share(found.per_step), Share(found.reference_per_step)),
        ("the degree in every snapshot", Share(found.sequence), Share(found.reference_sequence)),
    ]
    rows += [
        (f"the degree and the type {kind}", Share(value), Share(found.reference_per_type.get(kind)))
        for kind, value in list(found.per_type.items())[:MAX_TYPES_SHOWN]
    ]
    yield Table("Degree signature", ("The attacker knows", "Release", "Original"), rows)
    yield from cut(MAX_TYPES_SHOWN, len(found.per_type), "node types")


def _sensitive(found: SensitiveAttacks) -> Iterator[Block]:
    yield Paragraph(said_of(found))
    run = [attack for attack in found.attacks if attack.not_run is None]
    yield Table(
        "Attacks on the hidden links",
        ("Attack, worst first", "Targets", "max(AUC, 1 − AUC)", "AUC", "Advantage", "AUC before"),
        [
            (Text(a.title, a.edge_type), _pairs(a), a.figure, _span(a.auc), a.advantage, _span(a.before))
            for a in run
        ],
    )
    if run:
        before = "Before: the same attack on the original with the hidden links merely left out."
        yield Paragraph(before, style="small")
    if found.attacks:
        yield _known(found.attacks)
    yield _missing(found.attacks)
    if found.training is not None:
        yield Items(found.training.notes, "How the defence was learned:")
        yield Pictures(partial(figures.training_figures, found.training))


def _tasks(part: CuratorPart) -> Iterator[Block]:
    if not part.tasks:
        yield Paragraph(f"The suite {part.suite} runs no tasks on this graph.")
        return
    yield Paragraph(
        "A model is trained on the original or on the release, and tested on the original: what the release "
        "is worth to an analyst."
    )
    terms = {Text(each.title): each.definition for each in part.tasks}
    explained = Group([Terms([*terms.items()])], title="What each task is")
    yield Group([Pictures(partial(figures.task_figures, part.tasks)), explained], "columns")
    yield Table(
        "Tasks",
        ("Task", "Measure", "Trained on original", "Trained on release", "Guessing", "Repetitions"),
        [
            (
                Text(t.title, t.subject),
                t.measure.replace("_", " "),
                t.trained_on_original,
                t.trained_on_synthetic,
                t.baseline,
                t.repetitions,
            )
            for t in part.tasks
            if t.not_run is None
        ],
    )
    yield _missing(part.tasks)
