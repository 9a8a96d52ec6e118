"""What a policy allows, and which change of it allows more."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.datasets.models import Dataset, DatasetState
from core.errors import KindNotAllowed, PolicyRefused
from core.privacy.accounting.plan import GuaranteeKind
from core.workflows.common.policies import (
    LEAST_EPSILON,
    Policy,
    ReadingKind,
    allows_more,
    check_least,
    check_quotas,
    check_request,
    check_stream,
    looser_than_others,
    needs_approval,
    stored,
)

PURE, NONE = GuaranteeKind.PURE, GuaranteeKind.NONE
EPSILON = 10**9


def dataset(state: DatasetState = DatasetState.READY, **rules: Any) -> Dataset:
    policy = stored(Policy.model_validate(rules))
    return Dataset(id="ds_1", policy=policy, policy_version=3, state=state)


def ask(rules: dict[str, Any], **changed: Any) -> None:
    asked: dict[str, Any] = {"methods": ["dcsbm"], "kind": PURE, "nano_epsilon": EPSILON}
    check_request(dataset(**rules), **(asked | {"project": None, "team": None} | changed))


RANKED: list[tuple[str, Any, Any]] = [
    # field, the stricter value, the looser value
    ("methods", ["dcsbm"], ["dcsbm", "edgerand"]),
    ("methods", ["dcsbm"], None),
    ("kinds", ["pure"], ["pure", "approximate"]),
    ("kinds", ["pure", "approximate"], ["pure", "approximate", "none"]),
    ("max_epsilon_per_job", "1", "1.000000001"),
    ("max_epsilon_per_job", "1", None),
    ("min_epsilon_per_job", "0.01", "0.009999999"),
    ("min_epsilon_per_job", "1", None),
    ("approval_above_epsilon", "0.5", "0.6"),
    ("approval_above_epsilon", "0.5", None),
    ("curator_report_readers", [], ["ada"]),
    ("curator_report_readers", ["ada"], None),
    ("project_required", True, False),
    ("team_required", True, False),
    ("measurements", False, True),
]


@pytest.mark.parametrize(("field", "strict", "loose"), RANKED)
def test_each_field_is_ranked(field: str, strict: Any, loose: Any) -> None:
    stricter, looser = Policy.model_validate({field: strict}), Policy.model_validate({field: loose})
    assert allows_more(looser, stricter) == (field,)
    assert allows_more(stricter, looser) == ()


def test_every_field_of_a_policy_is_ranked() -> None:
    assert {field for field, _, _ in RANKED} == set(Policy.model_fields)


def test_values_that_neither_contain_the_other_allow_more_both_ways() -> None:
    ours, theirs = Policy(methods=("dcsbm", "tmf")), Policy(methods=("dcsbm", "edgerand"))
    assert allows_more(ours, theirs) == allows_more(theirs, ours) == ("methods",)


def test_one_looser_field_is_enough_whatever_another_tightens() -> None:
    before = Policy(max_epsilon_per_job="1", methods=None)
    after = Policy(max_epsilon_per_job="2", methods=("dcsbm",))
    assert allows_more(after, before) == ("max_epsilon_per_job",)


limits = st.none() | st.sampled_from(["0.5", "1", "2"])
policies = st.builds(
    Policy,
    methods=st.none() | st.sets(st.sampled_from(["a", "b", "c"]), min_size=1).map(tuple),
    kinds=st.sets(st.sampled_from(get_args(ReadingKind)), min_size=1).map(tuple),
    max_epsilon_per_job=limits,
    min_epsilon_per_job=limits,
    approval_above_epsilon=limits,
    curator_report_readers=st.none() | st.sets(st.sampled_from(["ada", "bo"])).map(tuple),
    project_required=st.booleans(),
    team_required=st.booleans(),
    measurements=st.booleans(),
)
requests = st.fixed_dictionaries(
    {
        "methods": st.sampled_from(["a", "b", "c", "d"]).map(lambda name: [name]),
        "kind": st.sampled_from(list(GuaranteeKind)),
        "nano_epsilon": st.sampled_from([EPSILON // 4, EPSILON, 3 * EPSILON]),
        "project": st.none() | st.just("p"),
        "team": st.none() | st.just("t"),
    }
)


def admits(policy: Policy, request: dict[str, Any]) -> bool:
    """Whether the request is taken, and waits for nobody."""
    kept = Dataset(id="ds_1", policy=stored(policy), policy_version=1)
    try:
        check_request(kept, **request)
        if request["kind"] is not NONE:
            check_least(kept, request["nano_epsilon"])
    except (KindNotAllowed, PolicyRefused):
        return False
    return not needs_approval(kept, request["kind"], request["nano_epsilon"])


@given(policies, policies, requests)
def test_a_change_that_only_restricts_admits_nothing_new(
    new: Policy, old: Policy, request: dict[str, Any]
) -> None:
    if not allows_more(new, old) and admits(new, request):
        assert admits(old, request)


@given(policies, policies, policies)
def test_allowing_no_more_is_transitive_and_holds_of_itself(a: Policy, b: Policy, c: Policy) -> None:
    assert allows_more(a, a) == ()
    if not allows_more(a, b) and not allows_more(b, c):
        assert allows_more(a, c) == ()


@pytest.mark.parametrize(
    ("rules", "changed", "rule", "limit", "asked"),
    [
        ({"methods": ["edgerand"]}, {}, "methods", "edgerand", "dcsbm"),
        ({"max_epsilon_per_job": "0.75"}, {}, "max_epsilon_per_job", "0.75", "1"),
        ({"project_required": True}, {}, "project_required", None, None),
        ({"team_required": True}, {}, "team_required", None, None),
    ],
)
def test_a_refusal_names_rule_limit_and_what_was_asked(
    rules: dict[str, Any], changed: dict[str, Any], rule: str, limit: str | None, asked: str | None
) -> None:
    with pytest.raises(PolicyRefused) as caught:
        ask(rules, **changed)
    members = caught.value.members
    assert (members["rule"], members["limit"], members["asked"]) == (rule, limit, asked)
    assert (members["dataset_id"], members["policy_version"]) == ("ds_1", 3)


def test_a_limit_admits_exactly_itself() -> None:
    ask({"max_epsilon_per_job": "1"}, nano_epsilon=EPSILON)
    with pytest.raises(PolicyRefused):
        ask({"max_epsilon_per_job": "1"}, nano_epsilon=EPSILON + 1)


def test_a_job_costs_the_least_that_the_policy_asks_for() -> None:
    """What an attempt costs that fails once the graph is open must not be nearly nothing."""
    check_least(dataset(), 10**7)  # 0.01 where a policy says nothing
    with pytest.raises(PolicyRefused) as caught:
        check_least(dataset(), 10**7 - 1)
    members = caught.value.members
    assert (members["field"], members["rule"]) == ("epsilon", "min_epsilon_per_job")
    assert (members["limit"], members["asked"]) == ("0.01", "0.009999999")
    assert "0.009999999" in caught.value.message
    assert "0.01, which is what an attempt costs that fails" in caught.value.message
    check_least(dataset(min_epsilon_per_job=None), 1)
    check_least(dataset(min_epsilon_per_job="1e-9"), 1)
    with pytest.raises(PolicyRefused):
        check_least(dataset(min_epsilon_per_job="2"), EPSILON)


def test_a_policy_of_the_version_before_has_the_usual_least_and_is_stored_as_that_version_reads_it() -> None:
    assert "min_epsilon_per_job" not in stored(Policy())
    assert Policy.model_validate(stored(Policy())).min_epsilon_per_job == LEAST_EPSILON
    for told in (None, "0.5"):
        kept = stored(Policy(min_epsilon_per_job=told))
        assert Policy.model_validate(kept).min_epsilon_per_job == kept["min_epsilon_per_job"] == told


def test_what_has_no_epsilon_is_for_the_kinds_to_decide_and_always_waits() -> None:
    rules = {"max_epsilon_per_job": "0.1", "kinds": ["none"]}
    ask(rules, kind=NONE)
    with pytest.raises(KindNotAllowed):
        ask({}, kind=NONE)
    assert needs_approval(dataset(approval_above_epsilon="900"), NONE, 1)
    assert not needs_approval(dataset(), NONE, 1)


def test_approval_is_asked_above_the_threshold_only() -> None:
    kept = dataset(approval_above_epsilon="1")
    assert not needs_approval(kept, PURE, EPSILON)
    assert needs_approval(kept, PURE, EPSILON + 1)
    check_stream(kept, EPSILON)
    with pytest.raises(PolicyRefused, match="wait for nobody"):
        check_stream(kept, EPSILON + 1)


def test_a_required_quota_cannot_be_evaded_by_a_name_without_one() -> None:
    kept = dataset(project_required=True, team_required=True)
    quotas = {("project", "a"), ("team", "t")}
    check_quotas(kept, quotas, project="a", team="t")
    for project, team in (("b", "t"), ("a", "u"), ("t", "a")):
        with pytest.raises(PolicyRefused):
            check_quotas(kept, quotas, project=project, team=team)


def test_other_datasets_of_the_account_bind_a_new_one_and_archived_ones_while_none_stands() -> None:
    new = Policy(max_epsilon_per_job="2")
    strict = dataset(max_epsilon_per_job="1")
    archived = dataset(DatasetState.ARCHIVED, max_epsilon_per_job="1")
    assert looser_than_others(new, []) == ()
    assert looser_than_others(new, [dataset(), strict]) == ("max_epsilon_per_job",)
    assert looser_than_others(new, [archived]) == ("max_epsilon_per_job",)
    assert looser_than_others(new, [archived, dataset()]) == ()


@pytest.mark.parametrize(
    "rules",
    [
        {"kinds": []},
        {"kinds": ["pure", "pure"]},
        {"methods": []},
        {"methods": ["a", "a"]},
        {"max_epsilon_per_job": 0},
        {"max_epsilon_per_job": -1},
        {"max_epsilon_per_job": True},
        {"max_epsilon_per_job": float("nan")},
        {"max_epsilon_per_job": float("inf")},
        {"approval_above_epsilon": "1e-10"},
        {"approval_above_epsilon": "much"},
        {"approval_above_epsilon": [1]},
        {"curator_report_readers": [""]},
        {"curator_report_readers": ["a\x00"]},
        {"project_required": "yes"},
        {"unit": "edge"},
    ],
)
def test_a_policy_that_says_nothing_clear_is_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Policy.model_validate(rules)


def test_limits_are_rounded_down_and_kept_exactly() -> None:
    policy = Policy.model_validate({"max_epsilon_per_job": 0.1, "approval_above_epsilon": "0.12345678999"})
    assert (policy.max_epsilon_per_job, policy.approval_above_epsilon) == ("0.1", "0.123456789")
    assert Policy.model_validate(stored(policy)) == policy
