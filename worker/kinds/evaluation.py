"""The comparison of a published release with its original. Whatever happens here, the release stands."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from core.evaluation.metric import Suite
from core.jobs.events import Step
from core.jobs.models import EVALUATIONS, Stop
from core.logging import get_logger
from core.publishing.spec import EvaluationSpec
from core.workflows.common.context import Services
from core.workflows.releases import evaluate
from core.workflows.releases.evaluate import EvaluationWork
from worker.kinds.base import Held, WorkKind
from worker.supervisor import Ending

TOO_MUCH = frozenset({Ending.TIME, Ending.MEMORY, Ending.FAILED})

log = get_logger(__name__)


class EvaluationKind(WorkKind[EvaluationWork]):
    """Comparisons: a curators' report, sealed."""

    leased = EVALUATIONS
    name, child = "evaluation", "evaluate"
    keeps_last = True

    def begin(self, services: Services, subject_id: str, worker: str) -> EvaluationWork | None:
        return evaluate.begin_evaluation(services, subject_id, worker)

    def stopped(self, session: Session, work: EvaluationWork) -> bool:
        return evaluate.erased(session, work.dataset_id)

    def spec(self, held: Held[EvaluationWork]) -> Mapping[str, Any]:
        evaluate.fetch_evaluation(
            held.services, held.work, graph=held.folder / "graph", release=held.folder / "bundle"
        )
        return held.work.spec.model_dump(mode="json")

    def on_gpu(self, work: EvaluationWork) -> bool:
        """Tell whether the evaluation runs on a GPU. Networks of all suites but the quick one gain from a GPU
        that is there; none is waited for."""
        return work.spec.suite is not Suite.QUICK

    def supervised(self, held: Held[EvaluationWork], spec: Mapping[str, Any]) -> Ending:
        """Compare, by the quick suite where need be. Where the suite was too much, it compares once more by
        the quick one: better than none."""
        ending = super().supervised(held, spec)
        less = EvaluationSpec.model_validate(spec).reduced()
        if ending not in TOO_MUCH or less is None:
            return ending
        log.warning("suite_reduced", suite=spec["suite"], ending=str(ending))
        (held.folder / "spec.json").unlink()
        shutil.rmtree(held.folder / "out", ignore_errors=True)
        return self.supervised(held, less.model_dump(mode="json"))

    def progress(self, services: Services, work: EvaluationWork, steps: Sequence[Step]) -> None:
        evaluate.advance_evaluation(services, work, steps[-1])

    def finish(self, held: Held[EvaluationWork]) -> None:
        report = held.folder / "out" / evaluate.CURATOR_REPORT
        evaluate.finish_evaluation(held.services, held.work, report, held.untold)

    def fail(self, services: Services, work: EvaluationWork, ending: Ending) -> None:
        evaluate.fail_evaluation(services, work)

    def hand_back(self, services: Services, work: EvaluationWork, stop: Stop) -> None:
        evaluate.hand_back_evaluation(services, work)
