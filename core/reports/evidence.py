"""Attacks on a release and tasks done with it. The curator part has them next to the metrics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.graphs.schema import MAX_TYPES
from core.reports.base import Notice, SuiteName
from core.reports.comparison import Comparison
from core.reports.precision import MAX_PRECISIONS
from core.reports.scores import Scores
from core.reports.totals import PaidError
from core.reports.training import TrainingPart
from graphveil.models.reports import Count, ReportModel, Share

MAX_ROWS = 32 * MAX_TYPES
"""More than every attack, and every task, on each relation of the largest schema."""


class DegreeSignature(ReportModel):
    """How often a victim's known degree, or degree sequence, finds the victim's node in the release."""

    steps: Count
    per_step: Share = Field(description="THEPUFF, Eq. 23: mean over snapshots and nodes.")
    sequence: Share = Field(description="The same for an attacker who knows the degree in every snapshot.")
    reference_per_step: Share = Field(description="per_step, had the original been published.")
    reference_sequence: Share = Field(description="sequence, had the original been published.")
    per_type: dict[str, Share] = Field(description="THEPUFF, Eq. 28: victim and crowd of one node type.")
    reference_per_type: dict[str, Share] = Field(description="per_type, had the original been published.")


class Interval(ReportModel):
    """A value with its two-sided 95 % confidence interval."""

    value: Share
    low: Share
    high: Share


class AttackScore(ReportModel):
    """How well an attack tells targets that are in the original from those that are not."""

    auc: Interval = Field(
        description="Area under the ROC curve; 0.5 is guessing, below 0.5 invert the score."
    )
    tpr_at_fpr_1e3: Interval | None = Field(description="True-positive rate at 0.1 % false positives.")
    tpr_at_fpr_1e2: Interval | None = Field(description="True-positive rate at 1 % false positives.")


class Attack(ReportModel):
    """One attack on one relation, beside the same attack had the original been published."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    knowledge: str = Field(description="What the attacker knows and does.")
    edge_type: str | None = Field(
        default=None, description="The relation attacked; null: a node's features, or who took part."
    )
    control: bool = Field(
        default=False,
        description="Knows degrees only. What it scores, the choice of targets gives away, not the release.",
    )
    positives: Count
    negatives: Count
    published: AttackScore | None = Field(description="Against the release; null: not run.")
    reference: AttackScore | None = Field(description="Against the original itself; null: not run.")
    bound: Share | None = Field(
        default=None,
        description="The greatest AUC that the guarantee leaves to any such attack; null: it says nothing "
        "of this one.",
    )
    not_run: str | None = Field(default=None, description="Why, where it was not run.")


class SensitiveAttack(ReportModel):
    """One attack on the links that the release hides, among as many pairs without a link."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    knowledge: str = Field(description="What the attacker knows and does.")
    edge_type: str
    positives: Count = Field(description="Hidden links that were asked for.")
    negatives: Count
    auc: Interval | None = Field(description="On the release; null: not run.")
    advantage: Share | None = Field(description="|2 AUC - 1|.")
    figure: Share | None = Field(description="max(AUC, 1 - AUC): what the attack finds, either way round.")
    before: Interval | None = Field(
        description="AUC on the original with the hidden links merely left out; null: not run."
    )
    not_run: str | None = Field(default=None, description="Why, where it was not run.")


class SensitiveAttacks(ReportModel):
    """What attackers find of the links that a defence hid: the curators' list, or a drawn share."""

    list_id: str | None = Field(description="The list of sensitive links; null where a share was drawn.")
    hidden: dict[str, Count] = Field(description="Links that were hidden, by relation.")
    figure: Share | None = Field(description="The largest figure of all attacks; null where none was run.")
    attacks: Annotated[tuple[SensitiveAttack, ...], Field(max_length=MAX_ROWS)] = Field(
        description="The worst first, those that were not run last."
    )
    training: TrainingPart | None = Field(
        default=None, description="How the defence was learned; of a list, told to its curators only."
    )


class Attacks(ReportModel):
    """Attacks on the release, judged by someone who knows the original."""

    degree_signature: DegreeSignature | None = Field(
        default=None, description="Null for a release at another size: no node is the original's."
    )
    inference: Annotated[tuple[Attack, ...], Field(max_length=MAX_ROWS)] = ()
    sensitive: SensitiveAttacks | None = Field(
        default=None, description="Of a method that hides links; null for any other."
    )


class Task(ReportModel):
    """A model trained on either graph, tested on the original: what the release is worth to an analyst."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    definition: str
    subject: str = Field(description="The relation or the label it is about.")
    measure: Literal["auc", "micro_f1", "macro_f1", "accuracy"]
    trained_on_original: Share | None
    trained_on_synthetic: Share | None
    baseline: Share | None = Field(description="Guessing: 0.5 for AUC, the majority class otherwise.")
    repetitions: Count
    not_run: str | None = Field(default=None, description="Why, where it was not run.")


class CuratorPart(ReportModel):
    """For the dataset's curators only: every figure here is a function of the private graph."""

    suite: SuiteName
    comparison: Comparison
    attacks: Attacks
    tasks: Annotated[tuple[Task, ...], Field(max_length=MAX_ROWS)] = ()
    paid: Annotated[tuple[PaidError, ...], Field(max_length=MAX_PRECISIONS)] = Field(
        default=(), description="Predicted noise of paid numbers beside what it really was."
    )
    scores: Scores
    warnings: Annotated[tuple[Notice, ...], Field(max_length=MAX_ROWS)] = ()
