"""Every read that can be paid for is audited by itself: half of its own noise is caught, at 99.9 %.

A read is judged against the epsilon of its own line of the transcript. One that is registered without an
audit, or that charges without being registered, fails here. Reads with several audits have the first of them
in every run of the audits, the others among the slow ones; ``make test`` has it with fewer runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import core.privacy
from core.privacy import queries
from core.privacy.mechanisms import ladder, noise
from core.privacy.reads import undirected
from tests.support.audited_reads import every_audit, without_audit
from tests.support.auditing import SMALLER, SOUND, caught
from tests.support.read_audits import ReadAudit, half_noise, measured, paid, promised

PRIVACY = Path(core.privacy.__path__[0])
CHARGES = {"charge", "charge_branch", "open_group"}
METER = "meter.py"
UNPROTECTED = ("private_graph.py", "unprotected")
"""It hands out the graph, and leaves no guarantee."""

AUDITS = list(every_audit())
GAUSSIAN = "degree_histogram, Gaussian"
"""The one of reads with other noise whose audit has a small form: it needs the fewest runs."""


def marked() -> Iterator[pytest.param]:
    met: set[str] = set()
    for each in AUDITS:
        later = each.slow or each.read in met
        met.add(each.read)
        yield pytest.param(each, id=each.name, marks=[pytest.mark.slow] if later else [])


def in_both_forms() -> Iterator[pytest.param]:
    """Each audit with the whole of its runs, and with few as far as it needs no torch."""
    for each in marked():
        yield pytest.param(*each.values, 1, id=f"{each.id}-large", marks=each.marks)
        if each.values[0].read != "PrivateGraph.dp_sgd":
            other = each.id.endswith(", Gaussian") and each.id != GAUSSIAN
            marks = (*each.marks, pytest.mark.audits if other else pytest.mark.default)
            yield pytest.param(*each.values, SMALLER, id=f"{each.id}-small", marks=marks)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("audit", list(marked()))
def test_a_read_keeps_to_what_its_line_costs(audit: ReadAudit):
    assert measured(audit)(audit.runs // 2, SOUND) <= promised(audit)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("audit", "part"), list(in_both_forms()))
def test_half_the_noise_of_a_read_is_caught(audit: ReadAudit, part: int, monkeypatch: pytest.MonkeyPatch):
    """The transcript is that of the sound read: the audit passes over nothing that it says."""
    if part > 1:
        monkeypatch.setattr(noise, "OPENDP_VALUES", -1)  # the compiled kernels: faster, audited elsewhere
    lines, epsilon = paid(audit), promised(audit)
    with half_noise():
        assert paid(audit) == lines
        assert caught(measured(audit), epsilon, audit.runs, part)


@pytest.mark.default
def test_every_registered_read_has_an_audit():
    assert without_audit(AUDITS) == set()


@pytest.mark.default
def test_a_read_that_is_registered_without_an_audit_is_missed(monkeypatch: pytest.MonkeyPatch):
    def stars(self: object, *, nano_epsilon: int, purpose: str) -> int:
        return 0

    monkeypatch.setattr(queries, "QUERIES", {**queries.QUERIES, "stars": queries.edge_count})
    monkeypatch.setattr(undirected.UndirectedReads, "stars", stars, raising=False)
    monkeypatch.setattr(
        ladder, "Reads", type("Reads", (), {"stars": stars, "__module__": ladder.__name__}), False
    )
    missed = {"laplace stars", "gaussian stars", "UndirectedReads.stars", "Reads.stars"}
    assert without_audit(AUDITS) == missed
    assert without_audit([each for each in AUDITS if not each.read.endswith("value_totals")]) == missed | {
        "PeopleAndThings.value_totals"
    }


def functions(text: str) -> Iterator[tuple[ast.FunctionDef, set[str]]]:
    """Every function of a module, and what it calls by an attribute, functions inside it left out."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            held, called = list(node.body), set[str]()
            while held:
                here = held.pop()
                if isinstance(here, ast.FunctionDef):
                    continue
                if isinstance(here, ast.Call) and isinstance(here.func, ast.Attribute):
                    called.add(here.func.attr)
                held += ast.iter_child_nodes(here)
            yield node, called


def charging_unnamed(modules: dict[str, str]) -> list[tuple[str, str]]:
    """Functions that charge, or have it done, and take no purpose: no enumeration of reads would see them."""
    takes = {
        (name, node.name): "purpose" in {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
        for name, text in modules.items()
        for node, _ in functions(text)
    }
    paying = CHARGES | {name for (_, name), named in takes.items() if named and name.startswith("_")}
    return [
        (name, node.name)
        for name, text in modules.items()
        for node, called in functions(text)
        if called & paying and not takes[name, node.name]
    ]


@pytest.mark.default
def test_whoever_charges_says_what_for():
    texts = {each.name: each.read_text() for each in PRIVACY.rglob("*.py") if each.name != METER}
    assert charging_unnamed(texts) == [UNPROTECTED]
    hidden = "class R:\n    def stars(self):\n        self._meter.charge('edge', None, event, 'stars')\n"
    aside = "class R:\n    def stars(self):\n        return self._noisy('stars')\n"
    planted = charging_unnamed({**texts, "planted.py": hidden, "aside.py": aside})
    assert {("planted.py", "stars"), ("aside.py", "stars")} <= set(planted)


@pytest.mark.default
def test_nothing_but_the_privacy_package_charges_a_meter():
    rooms = [each for each in PRIVACY.parent.rglob("*.py") if PRIVACY not in each.parents]
    assert not [each for each in rooms if "meter.charge(" in each.read_text()]
