"""The service answers as its OpenAPI document says, whatever it is sent, in whatever order."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import Bundle, MultipleResults, initialize, multiple
from schemathesis import Case
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.generation.stateful.state_machine import StepInput, StepOutput
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ensure_resource_availability,
    ignored_auth,
    missing_required_header,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
    use_after_free,
)

from tests.contract.test_every_operation import BUCKETS_ONLY, OPERATIONS, case_of
from tests.support.stage import Stage, document

pytestmark = pytest.mark.default

OCTETS = "application/octet-stream"
EXAMPLES = 6
WALKS, STEPS = 12, 8
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
_KEY = "Its Idempotency-Key is needed, and is one request's."
_TERMS = "What its fields say together decides, and amounts that are texts."
_COLUMNS = "What columns and their dialect are said to be follows a grammar."
_LARGE = "The document has the bound of a large integer as a floating-point number."
MORE_THAN_SHAPE = {
    **{
        label: "Only a cursor that the list gave out, signed, leads on."
        for label, operation in OPERATIONS.items()
        if any(parameter.name == "cursor" for parameter in operation.query)
    },
    "GET /v1/datasets/{dataset_id}/budget": "A time is one that has been; no step is after the last.",
    "GET /v1/jobs/{job_id}/events": _LARGE,
    "GET /v1/streams/{stream_id}/download": "No step is after the last.",
    "POST /v1/audits": _KEY,
    "POST /v1/datasets": _TERMS,
    "POST /v1/datasets/{dataset_id}/budget/adjustments": _TERMS,
    "POST /v1/datasets/{dataset_id}/budget/grants": _TERMS,
    "POST /v1/datasets/{dataset_id}/reading": "Columns are those of a kept file.",
    "POST /v1/datasets/{dataset_id}/uploads": _LARGE,
    "POST /v1/jobs": _KEY,
    "POST /v1/jobs/{job_id}/samples": _KEY,
    "POST /v1/keys": "A key lives for as many days as the settings allow.",
    "POST /v1/streams": _KEY,
    "POST /v1/streams/{stream_id}/snapshots": "One of step and time is needed; formats are those installed.",
    "POST /v1/webhooks": "The address is public, and its scheme https.",
    "PUT /v1/datasets/{dataset_id}/budget/quotas/{scope}/{name}": _TERMS,
    "PUT /v1/datasets/{dataset_id}/content": "Formats are those installed.",
    "PUT /v1/datasets/{dataset_id}/policy": "Its If-Match is needed, and names what stands.",
    "PUT /v1/datasets/{dataset_id}/schema": _TERMS,
    "PUT /v1/datasets/{dataset_id}/sensitive-links": _COLUMNS,
}
"""The operations that may refuse a request of the documented shape, and why; every other accepts it."""
OUTLIVED = ("/v1/datasets/{dataset_id}", "/v1/keys/{key_id}")
"""What a DELETE ends, but does not hide: a dataset is archived with its ledger, and a key is revoked."""
MADE_FIRST = ("POST /v1/datasets", "POST /v1/jobs", "POST /v1/webhooks", "POST /v1/keys")
QUIET: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}
NO_FLOATS = {"NewDataset", "JobRequest"}
BUDGETS = re.compile("epsilon|delta|charge|cost|budget|remaining")
_turns = itertools.count()


def checks_of(case: Case) -> list[CheckFunction]:
    """What the answer to the call is held to."""
    shape = [] if case.operation.label in MORE_THAN_SHAPE else [positive_data_acceptance]
    gone = [] if case.path.startswith(OUTLIVED) else [use_after_free]
    return [*CHECKS, ensure_resource_availability, *shape, *gone]


def test_the_document_is_valid_openapi():
    document.validate()


def test_what_more_than_the_shape_decides_about_are_operations_that_there_are():
    assert MORE_THAN_SHAPE.keys() < OPERATIONS.keys()


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


def test_operations_have_short_names_of_their_own(app: FastAPI):
    named = [
        operation["operationId"] for item in app.openapi()["paths"].values() for operation in item.values()
    ]
    assert [name for name, times in Counter(named).items() if times > 1] == []
    assert [name for name in named if not re.fullmatch(r"[a-z]+(_[a-z]+){1,3}", name)] == []
    assert "submit_job" in named


def test_models_are_called_as_they_are_and_by_no_module(app: FastAPI):
    for name, model in app.openapi()["components"]["schemas"].items():
        assert re.fullmatch(r"[A-Z][A-Za-z]+", name)
        assert model["title"] == name


def test_every_answer_has_a_type_that_generators_of_clients_know(app: FastAPI):
    for path, item in app.openapi()["paths"].items():
        for method, operation in item.items():
            for status, answer in operation["responses"].items():
                if not status.startswith("2") or status == "204":
                    continue
                where = f"{method} {path} {status}"
                known = [
                    content.get("schema")
                    for form, content in answer["content"].items()
                    if form.endswith("json") or form.startswith("text/") or form == OCTETS
                ]
                assert known, where
                assert known[0], where


def test_requests_have_examples(app: FastAPI):
    for path, item in app.openapi()["paths"].items():
        for method, operation in item.items():
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                if media_type == "application/json":
                    assert content["examples"], f"{method} {path}"


def test_a_file_that_is_required_has_a_byte(app: FastAPI):
    bodies = [
        operation["requestBody"]
        for item in app.openapi()["paths"].values()
        for operation in item.values()
        if operation.get("requestBody", {}).get("required")
    ]
    files = [
        body["content"]["application/octet-stream"]
        for body in bodies
        if len(body["content"]) == 1 and "application/octet-stream" in body["content"]
    ]
    assert len(files) == 2
    assert all(file["schema"]["minLength"] == 1 for file in files)


def test_no_answer_shows_a_budget_as_a_floating_point_number(app: FastAPI):
    schemas = app.openapi()["components"]["schemas"]
    # Measured or predicted of graphs, and how sure a reading is: numbers, unless they are budgets by name.
    figures = reached(schemas, "ServedReport") | {"Expected", "Reached", "ReadColumn", "Question"}
    for name, model in schemas.items():
        for field, shape in model.get("properties", {}).items():
            if name not in NO_FLOATS and (name not in figures or BUDGETS.search(field)):
                assert shape.get("type") != "number", f"{name}.{field}"


def reached(schemas: dict[str, Any], name: str) -> set[str]:
    """The names of the schema and of all that it is made of."""
    found, left = {name}, [name]
    while left:
        for other in re.findall(r"#/components/schemas/(\w+)", json.dumps(schemas[left.pop()])):
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def authorised(case: Case, token: str) -> dict[str, str]:
    """The headers with the key, where the operation asks for one."""
    return {"Authorization": f"Bearer {token}"} if case.path.startswith("/v1") else {}


def settle_in(case: Case, stage: Stage) -> None:
    """The call is about an object that exists; what would end it for all is not."""
    if case.method != "DELETE":
        names = case.path_parameters.keys() & stage.lasting.keys()
        case.path_parameters.update({name: stage.lasting[name] for name in names if name.endswith("_id")})


def spare(case: Case, stage: Stage) -> None:
    """What the other calls need, the keys that call first of all, is neither deleted nor closed."""
    if case.method == "DELETE" or case.path.endswith("/close"):
        lasting = stage.needed & set(map(str, case.path_parameters.values()))
        ending = {name: "none" for name, value in case.path_parameters.items() if str(value) in lasting}
        case.path_parameters.update(ending)


def refused_its_own(response: Response, stage: Stage) -> bool:
    """Whether a key of the stage was refused as it was sent; a call may be sent without any, to see that."""
    sent = response.request.headers.get("Authorization")
    return response.status_code == 401 and sent in {f"Bearer {key}" for key in (stage.first, stage.second)}


def answer(case: Case, stage: Stage) -> None:
    """One call, whose answer is as documented: every other about an object that exists, by both persons."""
    turn = next(_turns)
    if turn % 2:
        settle_in(case, stage)
    spare(case, stage)
    token = stage.first if turn // 2 % 2 else stage.second
    response = case.call_and_validate(headers=authorised(case, token), checks=checks_of(case))
    assert not refused_its_own(response, stage), f"{case.operation.label} refused a key that is good"


@document.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, phases=[Phase.generate], **QUIET)
def test_answers_to_a_few_calls_are_as_documented(case: Case, stage: Stage):
    """The cases that the document enumerates, thousands of them, are in ``test_openapi_at_length.py``."""
    answer(case, stage)


def walk(stage: Stage, walks: int, steps: int) -> Counter[str]:
    """Calls in a row, each with what those before it gave; how many of each operation succeeded.

    Every walk begins with objects to act on, and with a few operations as they should be called, in turn.
    The service remembers, so that walks which draw the same may differ; Hypothesis takes that for a fault of
    the test and stops. The rest of the walks is then begun anew. No failure is lost that way.
    """
    succeeded: Counter[str] = Counter()
    failures: list[BaseException] = []
    turn = itertools.cycle(OPERATIONS)
    share = math.ceil(len(OPERATIONS) / walks)
    begun = 0
    machine = document.as_state_machine()

    class Workflow(machine):  # type: ignore[valid-type, misc]
        token = stage.first

        @initialize(target=Bundle("catch_all"))
        def begin(self) -> MultipleResults[StepOutput]:
            nonlocal begun
            begun += 1
            for label in itertools.islice(turn, share):
                self.called(label)
            made = [self.called(label) for label in MADE_FIRST]
            for output in made:
                self.control.record_step(StepInput.initial(output.case), self.recorder)
            return multiple(*made)

        def called(self, label: str) -> StepOutput:
            case, second = case_of(stage, label)
            self.recorder.record_case(case=case)
            self.token = stage.second if second else stage.first
            try:
                return self.step(StepInput.initial(case))
            finally:
                self.token = stage.first

        def step(self, input: StepInput) -> StepOutput:
            try:
                return super().step(input)
            except (Exception, FailureGroup) as failure:
                failures.append(failure)
                raise

        def before_call(self, case: Case) -> None:
            spare(case, stage)

        def get_call_kwargs(self, case: Case) -> dict[str, Any]:
            return {"headers": {"Authorization": f"Bearer {self.token}"}}

        def validate_response(
            self, response: Response, case: Case, additional_checks: Any = None, **sent: Any
        ) -> None:
            case.validate_response(
                response, checks=checks_of(case), transport_kwargs=sent, recorder=self.recorder
            )
            assert not refused_its_own(response, stage), f"{case.operation.label} refused a key that is good"
            if response.status_code < 300:
                succeeded[case.operation.label] += 1

    # A failure is shown as it came: a shorter walk to it would meet a service that has moved on.
    once: dict[str, Any] = {"phases": [Phase.generate], "database": None, **QUIET}
    while begun < walks:
        left = settings(max_examples=walks - begun, stateful_step_count=steps, **once)
        with suppress(FlakyStrategyDefinition):
            seed(begun)(Workflow).run(settings=left)
        if failures:
            raise failures[0]
    return succeeded


def test_calls_in_a_row_are_answered_as_documented(stage: Stage):
    assert OPERATIONS.keys() - walk(stage, WALKS, STEPS).keys() == BUCKETS_ONLY.keys()
