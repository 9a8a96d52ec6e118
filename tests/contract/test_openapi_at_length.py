"""The service answers as its OpenAPI document says, to all that it enumerates, and in longer walks."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from schemathesis import Case

from tests.contract.test_every_operation import BUCKETS_ONLY, OPERATIONS
from tests.contract.test_openapi import EXAMPLES, QUIET, STEPS, WALKS, answer, walk
from tests.support.stage import Stage, document

pytestmark = pytest.mark.audits


@document.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, **QUIET)
def test_answers_are_as_documented(case: Case, stage: Stage):
    answer(case, stage)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@document.parametrize()
@settings(max_examples=20 * EXAMPLES, phases=[Phase.generate], **QUIET)
def test_answers_are_as_documented_at_length(case: Case, stage: Stage):
    answer(case, stage)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_calls_in_a_row_are_answered_as_documented(stage: Stage):
    assert OPERATIONS.keys() - walk(stage, 40 * WALKS, 4 * STEPS).keys() == BUCKETS_ONLY.keys()
