"""What an assistant may do. Types and texts of these methods become its tools."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from itertools import islice
from typing import Annotated, Any, TypeVar

from pydantic import Field

from graphveil.assistant.seen import public_edition, refused, seen
from graphveil.errors import ClientError, ProblemError, WaitTimeout
from graphveil.models.plans import Plan
from graphveil.sdk.client import Graphveil
from graphveil.sdk.transport import given

MOST_LISTED = 100
MOST_WAIT_SECONDS = 60
Found = TypeVar("Found")

DatasetId = Annotated[str, Field(description="ds_..., as list_datasets names it.")]
JobId = Annotated[str, Field(description="job_..., as submit names it.")]
Epsilon = Annotated[str, Field(description="An exact decimal, such as 0.5.")]
Method = Annotated[str, Field(description="A name from list_methods; auto chooses by public facts.")]
Parameters = Annotated[dict[str, Any] | None, Field(description="As describe_method tells them.")]
Delta = Annotated[str, Field(description="An exact decimal; 0 for pure epsilon.")]


class Refused(ClientError):
    """What the assistant asked for is not done; the text says why, for it to read."""


class Tools:
    """The calls of one key. ``spend``: epsilon that all jobs submitted here may cost together."""

    def __init__(self, service: Graphveil, spend: Decimal) -> None:
        self._service = service
        self._left = spend
        self._turn = threading.Lock()

    def list_datasets(self) -> list[dict[str, Any]]:
        """List the newest hundred datasets: id, name, privacy unit, policy, schema. Nothing is spent."""
        found = _in_words(lambda: list(islice(self._service.datasets(), MOST_LISTED)))
        return [seen(each) for each in found]

    def budget(self, dataset_id: DatasetId) -> dict[str, Any]:
        """Tell the dataset's budget account: capacity, what is charged, reserved, and remains."""
        return _shown(_in_words(lambda: self._service.budget(dataset_id)))

    def list_methods(self) -> list[dict[str, Any]]:
        """List the synthesis methods, with their guarantees, units and graphs; not their parameters."""
        return [
            {name: value for name, value in seen(each).items() if name != "parameters"}
            for each in _in_words(self._service.methods)
        ]

    def describe_method(self, method: Method) -> dict[str, Any]:
        """Describe one method with the JSON Schema of its parameters."""
        for each in _in_words(self._service.methods):
            if each.name == method:
                return _shown(each)
        raise Refused(f"there is no method {method!r}; list_methods names them")

    def plan(
        self,
        dataset_id: DatasetId,
        epsilon: Epsilon | None = None,
        method: Method = "auto",
        delta: Delta = "0",
        parameters: Parameters = None,
        target: Annotated[
            dict[str, float] | None,
            Field(description="Instead of epsilon: what must be right, such as edges_relative_95: 0.01."),
        ] = None,
        assume: Annotated[
            dict[str, float] | None, Field(description="Guesses for what is relative, such as edges: 90000.")
        ] = None,
    ) -> dict[str, Any]:
        """Say what a job would cost, leave and be good for, before it is asked for. Nothing is spent, no
        data is read."""
        request = {"target": target, "assume": assume, "parameters": parameters, "epsilon": epsilon}
        return _shown(
            _in_words(lambda: self._service.plan(dataset_id, method=method, delta=delta, **given(request)))
        )

    def menu(
        self,
        dataset_id: DatasetId,
        methods: Annotated[list[str], Field(description="Names from list_methods.", min_length=1)],
        epsilons: Annotated[list[str], Field(description="Exact decimals.", min_length=1)],
    ) -> dict[str, Any]:
        """Plan several methods at several epsilons side by side, 50 plans at most. Nothing is spent."""
        return _shown(_in_words(lambda: self._service.menu(dataset_id, methods=methods, epsilons=epsilons)))

    def submit(
        self,
        dataset_id: DatasetId,
        epsilon: Epsilon,
        method: Method = "auto",
        delta: Delta = "0",
        parameters: Parameters = None,
        label: Annotated[str | None, Field(description="A name for people.", max_length=128)] = None,
        project: Annotated[str | None, Field(description="The project whose quota pays.")] = None,
    ) -> dict[str, Any]:
        """Ask for a release. This reserves and then spends privacy budget, which never comes back: plan
        first, and let the person who decides say yes. An identical release is not paid for twice."""
        request = given({"parameters": parameters, "project": project})
        with self._turn:
            plan = _in_words(
                lambda: self._service.plan(dataset_id, epsilon=epsilon, method=method, delta=delta, **request)
            )
            cost = self._allowed(plan)
            request |= given({"label": label}) | {"method": plan.method, "parameters": plan.parameters}
            self._left -= cost  # before: an answer that is lost may be that of a job which stands
            try:
                job = self._service.submit(dataset_id, epsilon=epsilon, delta=delta, **request)
            except ProblemError as problem:
                self._left += cost if problem.status < 500 else 0
                raise Refused(refused(problem)) from None
        return _shown(job)

    def _allowed(self, plan: Plan) -> Decimal:
        """Return what the plan costs; Refused where this server may not spend it, or nothing bounds it."""
        if plan.cost.epsilon is None:
            raise Refused(
                f"{plan.method} gives no guarantee: such a job exposes the dataset's account for good, and "
                "no assistant asks for one"
            )
        cost = Decimal(plan.cost.epsilon)
        if cost > self._left:
            raise Refused(
                f"the job costs epsilon {cost}, and {self._left} is left of what this server may spend "
                "(graphveil mcp --spend)"
            )
        return cost

    def progress(
        self,
        job_id: JobId,
        wait_seconds: Annotated[
            int, Field(description="How long to wait for its end.", ge=0, le=MOST_WAIT_SECONDS)
        ] = 0,
    ) -> dict[str, Any]:
        """Tell a job's state and the step that it has reached; it ends published, failed, cancelled or
        rejected."""

        def look() -> dict[str, Any]:
            if wait_seconds:
                try:
                    self._service.wait(job_id, timeout_seconds=wait_seconds)
                except WaitTimeout:
                    return self._standing(job_id)
            return self._standing(job_id)

        return _in_words(look)

    def _standing(self, job_id: str) -> dict[str, Any]:
        steps = self._service.events(job_id)
        return {"job": seen(self._service.job(job_id)), "step": seen(steps[-1]) if steps else None}

    def public_report(self, job_id: JobId) -> dict[str, Any]:
        """Read the public edition of a published job's report: guarantee, cost, statistics of the synthetic
        graph, predicted precision. Comparisons with the original are for curators and not in it."""
        return public_edition(_in_words(lambda: self._service.report(job_id)))


def _in_words(call: Callable[[], Found]) -> Found:
    """Return what the call returns; Refused, in words for the assistant, where the service refuses."""
    try:
        return call()
    except ProblemError as problem:
        raise Refused(refused(problem)) from None


def _shown(answer: Any) -> dict[str, Any]:
    shown: dict[str, Any] = seen(answer)
    return shown
