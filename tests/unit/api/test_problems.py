"""The table of problems is complete, documented, and renders nothing that it does not declare."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from api.http import mends, problems
from api.show.pages import PROBLEMS as PAGES
from core import errors
from graphveil import problems as problem_tree
from graphveil.errors import problem

ROOT = Path(__file__).resolve().parents[3]


def every_error(kind: type[Exception] = errors.GraphveilError) -> list[type[Exception]]:
    return [kind, *(found for child in kind.__subclasses__() for found in every_error(child))]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_row_of_its_own(kind: type[Exception]):
    assert kind in problems.TABLE


@pytest.mark.parametrize("kind", [kind for kind in every_error() if kind.__module__ == problem_tree.__name__])
def test_the_client_knows_the_class_by_the_problems_name(kind: type[errors.GraphveilError]):
    assert kind.name() == problems.TABLE[kind].slug
    told = problem(problems.TABLE[kind].status, {"type": problems.TABLE[kind].type, "detail": "no"})
    assert isinstance(told, kind)
    assert (type(told).__name__, told.slug, str(told)) == (kind.__name__, kind.name(), "no")


def test_slugs_of_different_rows_differ():
    rows = [*problems.TABLE.values(), *problems.WITHOUT_ERROR]
    assert len({row.slug for row in rows}) == len(set(rows))


@pytest.mark.parametrize("slug", sorted(problems.rows()))
def test_every_row_has_a_page_that_agrees_with_it(slug: str):
    row = problems.rows()[slug]
    text = (PAGES / f"{slug}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {row.title}\n")
    assert f"| type | `/problems/{slug}` |" in text
    assert f"| status | {row.status} |" in text
    assert f"| retryable | {'yes' if row.retryable else 'no'} |" in text
    assert row.actionable_by.value in text.split("| actionable by |")[1].splitlines()[0]
    assert "## What to do" in text


def test_every_page_has_a_row():
    assert {page.stem for page in PAGES.glob("*.md")} == set(problems.rows())


@cache
def raises() -> list[tuple[str, ast.Call]]:
    """(file, call) of every place in the product that makes an error of the tree."""
    names = {kind.__name__ for kind in every_error()}
    made, found = re.compile(rf"\b({'|'.join(names)})\("), []
    for file in sorted(p for top in ("core", "papers", "api", "worker") for p in (ROOT / top).rglob("*.py")):
        if not made.search(text := file.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and _name(node) in names:
                found.append((str(file.relative_to(ROOT)), node))
    return found


def _name(call: ast.Call) -> str | None:
    return getattr(call.func, "id", getattr(call.func, "attr", None))


def words(node: ast.expr) -> str:
    """The text of a literal or f-string, with an x for each value in it; of anything else, nothing."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
    return ""


def raised_members() -> list[tuple[str, str, set[str]]]:
    """(file, error class, keyword names) of every such place."""
    return [
        (file, str(_name(call)), {keyword.arg for keyword in call.keywords if keyword.arg})
        for file, call in raises()
    ]


def test_every_member_that_is_raised_is_declared_by_its_row():
    missing = []
    for file, name, members in raised_members():
        row = problems.TABLE[getattr(errors, name)]
        if row.status >= 500:
            continue  # nothing of a server error is shown, whatever it carries
        declared = set(row.model.model_fields)
        if "errors" in declared:
            declared |= {"field", "how_to_mend"}
        missing += [f"{file}: {name}({member}=...)" for member in sorted(members - declared)]
    assert not missing, "\n".join(missing)


def body_of(error: errors.GraphveilError) -> dict[str, object]:
    return json.loads(bytes(problems.of_error(error, "req_test").body))


def test_a_budget_refusal_carries_its_exact_amounts():
    refusal = errors.BudgetExceeded(
        "epsilon 2 was asked, 1 remains of 3",
        account_id="acc_1",
        dimension="epsilon",
        requested="2",
        remaining="1",
        reserved="0.5",
        capacity="3",
        earliest_expiry_at="2026-01-02T03:04:05+00:00",
    )
    body = body_of(refusal)
    assert body["type"] == "/problems/budget-exceeded"
    assert (body["status"], body["retryable"], body["actionable_by"]) == (409, False, "curator")
    assert (body["requested"], body["remaining"], body["reserved"]) == ("2", "1", "0.5")
    assert body["earliest_expiry_at"] == "2026-01-02T03:04:05Z"
    assert body["account_id"] == "acc_1"


def test_undeclared_members_stay_inside():
    body = body_of(errors.NotFound("no such dataset", id="ds_1", secret="the graph"))
    assert body["id"] == "ds_1"
    assert "secret" not in body


def test_members_of_the_wrong_type_do_not_turn_a_refusal_into_a_failure():
    body = body_of(errors.BudgetExceeded("full", account_id="acc_1", window="not a list"))
    assert body["type"] == "/problems/budget-exceeded"
    assert "window" not in body


def test_a_member_cannot_replace_a_standard_one():
    assert body_of(errors.NotFound("gone", status=200, type="/problems/none"))["status"] == 404


@pytest.mark.parametrize("kind", [errors.StorageError, errors.PlanExceeded, errors.GraphveilError])
def test_server_errors_carry_no_detail(kind: type[errors.GraphveilError]):
    body = body_of(kind("bucket graphs-prod at 10.0.0.7 said no"))
    assert body["status"] in (500, 503)
    assert "detail" not in body


def test_invalid_input_names_the_field():
    body = body_of(errors.InvalidInput("epsilon must be greater than zero", field="epsilon"))
    assert [error["field"] for error in body["errors"]] == ["epsilon"]


def test_an_error_of_a_new_class_gets_its_parents_row():
    class Fresh(errors.DatasetNotReady):
        pass

    assert problems.row_of(Fresh("not yet")).slug == "dataset-not-ready"
    assert problems.row_of(RuntimeError("surprise")).slug == "internal-error"


def test_every_field_error_says_how_to_mend_it():
    """No refusal of a request leaves a field without a word on what would be accepted.

    What a workflow, method or format refuses: errors of the mechanisms below them are no caller's to mend.
    """
    rooms = (
        "api",
        "core/workflows",
        "core/methods",
        "papers",
        "core/identity",
        "core/graphs/formats",
    )
    silent = []
    for file, call in raises():
        if not file.startswith(rooms):
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if "field" not in given or "how_to_mend" in given or not call.args:
            continue
        said = words(call.args[0])
        field = words(given["field"])
        if field and said.strip("x: ") and mends.mend_of(field, said) == mends.LAST_WORD:
            silent.append(f"{file}:{call.lineno}: {field}: {said}")
    assert not silent, "\n".join(silent)


@pytest.mark.parametrize(
    ("field", "message", "mend"),
    [
        ("part", "no such part; take nodes or edges", "Take nodes or edges."),
        ("method", "no method named 'x'; known are: a, b", "Known are: a, b."),
        ("epsilon", "epsilon is too small to be divided", mends.MENDS["epsilon"]),
        ("formats.0", "This graph cannot be written.", mends.MENDS["formats"]),
    ],
)
def test_a_mend_follows_from_message_or_field(field: str, message: str, mend: str):
    assert mends.mend_of(field, message) == mend
    error = body_of(errors.InvalidInput(message, field=field))["errors"]
    assert error == [{"field": field, "message": message, "how_to_mend": mend}]
