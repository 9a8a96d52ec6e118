"""The service answers as its OpenAPI document says, whatever it is sent, in whatever order."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ensure_resource_availability,
    ignored_auth,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
    use_after_free,
)

from tests.support.stage import Stage, document

EXAMPLES = 6
WALKS, STEPS = 12, 15
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    missing_required_header,
    unsupported_method,
    ignored_auth,
]
QUIET: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}
NO_FLOATS = {"NewDataset", "JobRequest"}
_turns = itertools.count()


def test_the_document_is_valid_openapi():
    document.validate()


def test_every_operation_is_documented(app: FastAPI):
    for path, item in app.openapi()["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["description"], where
            for parameter in operation.get("parameters", []):
                assert parameter["in"] == "path" or "description" in parameter, (
                    f"{where}: {parameter['name']}"
                )


def test_requests_have_examples(app: FastAPI):
    for path, item in app.openapi()["paths"].items():
        for method, operation in item.items():
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                if media_type == "application/json":
                    assert content["examples"], f"{method} {path}"


def test_no_answer_shows_a_budget_as_a_floating_point_number(app: FastAPI):
    for name, model in app.openapi()["components"]["schemas"].items():
        for field, shape in model.get("properties", {}).items():
            if name not in NO_FLOATS:
                assert shape.get("type") != "number", f"{name}.{field}"


def authorised(case: Case, stage: Stage) -> dict[str, str]:
    """The headers of one of the two persons, where the operation asks for any."""
    token = stage.first if next(_turns) % 2 else stage.second
    return {"Authorization": f"Bearer {token}"} if case.path.startswith("/v1") else {}


def settle_in(case: Case, stage: Stage) -> None:
    """Every other call is about an object that exists; what would end it for all is not."""
    if next(_turns) % 2 and case.method != "DELETE":
        names = case.path_parameters.keys() & stage.lasting.keys()
        case.path_parameters.update({name: stage.lasting[name] for name in names if name.endswith("_id")})


def spare(case: Case, stage: Stage) -> None:
    """What the other calls need, the keys that call first of all, is neither deleted nor closed."""
    if case.method == "DELETE" or case.path.endswith("/close"):
        lasting = stage.needed & set(map(str, case.path_parameters.values()))
        ending = {name: "none" for name, value in case.path_parameters.items() if str(value) in lasting}
        case.path_parameters.update(ending)


def answer(case: Case, stage: Stage) -> None:
    """One call, whose answer is as documented."""
    settle_in(case, stage)
    spare(case, stage)
    case.call_and_validate(headers=authorised(case, stage), checks=CHECKS)


@document.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, **QUIET)
def test_answers_are_as_documented(case: Case, stage: Stage):
    answer(case, stage)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@document.parametrize()
@settings(max_examples=20 * EXAMPLES, **QUIET)
def test_answers_are_as_documented_at_length(case: Case, stage: Stage):
    answer(case, stage)


def walk(stage: Stage, walks: int, steps: int) -> Counter[str]:
    """Calls in a row, each with what those before it gave; how many of each operation succeeded."""
    succeeded: Counter[str] = Counter()
    machine = document.as_state_machine()

    class Workflow(machine):  # type: ignore[valid-type, misc]
        def before_call(self, case: Case) -> None:
            spare(case, stage)

        def get_call_kwargs(self, case: Case) -> dict[str, Any]:
            return {"headers": {"Authorization": f"Bearer {stage.first}"}}

        def validate_response(
            self, response: Response, case: Case, additional_checks: Any = None, **sent: Any
        ) -> None:
            checks = [*CHECKS, use_after_free, ensure_resource_availability]
            case.validate_response(response, checks=checks, transport_kwargs=sent, recorder=self.recorder)
            if response.status_code < 300:
                succeeded[case.operation.label] += 1

    Workflow.run(settings=settings(max_examples=walks, stateful_step_count=steps, derandomize=True, **QUIET))
    return succeeded


def test_calls_in_a_row_are_answered_as_documented(stage: Stage):
    succeeded = walk(stage, WALKS, STEPS)
    assert len(succeeded) >= 10, succeeded


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_calls_in_a_row_are_answered_as_documented(stage: Stage):
    succeeded = walk(stage, 40 * WALKS, 2 * STEPS)
    assert len(succeeded) >= 25, succeeded
