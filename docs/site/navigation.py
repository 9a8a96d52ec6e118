"""The site's navigation, by who reads: whoever uses the service, runs it, judges it or extends it."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "Start": {
        "": ("README.md", "docs/tutorial.md", "docs/leaderboard.md", "CHANGELOG.md"),
        "Examples": ("examples/*.md", "examples/*/README.md"),
    },
    "Use": {
        "": (
            "docs/choosing_epsilon.md",
            "docs/cost_of_privacy.md",
            "docs/compare.md",
            "docs/methods.md",
            "docs/console.md",
            "docs/client.md",
            "docs/r.md",
            "docs/python.md",
            "docs/tools.md",
        ),
        "Data": (
            "docs/datasets.md",
            "docs/tables.md",
            "docs/edge_values.md",
            "docs/node_attributes.md",
            "docs/persons.md",
            "docs/streams.md",
            "docs/sharded_releases.md",
        ),
        "Releases": ("docs/report.md", "docs/measurements.md", "docs/samples.md", "docs/audits.md"),
        "Evidence": ("docs/evidence.md", "docs/standards.md"),
        "The API": (
            "docs/integrate.md",
            "docs/api.md",
            "docs/identity.md",
            "docs/events.md",
            "docs/webhooks.md",
        ),
        "Budgets and approval": ("docs/budget.md", "docs/governance.md"),
        "Methods": ("docs/generators/*.md",),
        "Problems": ("docs/problems/*.md",),
    },
    "Run": {
        "": (
            "docs/operations.md",
            "docs/settings.md",
            "docs/monitoring.md",
            "docs/verifier.md",
            "docs/performance.md",
        ),
        "Runbooks": ("deploy/runbooks/*.md",),
    },
    "Judge": {
        "": (
            "PRIVACY_PROMISE.md",
            "SECURITY.md",
            "docs/w_event.md",
            "docs/evaluation.md",
            "docs/metrics.md",
        ),
        "Results": ("docs/results.md", "docs/results/*.md"),
        "Paper by paper": ("docs/papers/README.md", "docs/papers/*.md"),
    },
    "Extend": {
        "": ("CONTRIBUTING.md",),
        "Decisions": ("docs/decisions/README.md", "docs/decisions/*.md"),
    },
}
"""Tabs, their groups (the unnamed one has no heading), and the pages of each: paths, or patterns."""

Entry = dict[str, "str | list[Entry]"]


def listed(pages: set[str]) -> list[str]:
    """The pages that some part names, in order; each once, under the first pattern that it fits."""
    return [page for groups in _placed(pages).values() for group in groups.values() for page in group]


def tree(pages: set[str], folder: Path) -> list[Entry]:
    """Tabs with groups with pages; each page under its first heading."""
    tabs: list[Entry] = []
    for tab, groups in _placed(pages).items():
        entries: list[Entry] = []
        for group, paths in groups.items():
            named: list[Entry] = [{title(folder / path): path} for path in paths]
            entries += named if not group else [{group: named}] if named else []
        tabs.append({tab: entries})
    return tabs


def title(page: Path) -> str:
    """A page's first heading, without marks of code."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("# "))[2:].replace("`", "")


def _placed(pages: set[str]) -> dict[str, dict[str, list[str]]]:
    left = sorted(pages)
    placed: dict[str, dict[str, list[str]]] = {}
    for tab, groups in PARTS.items():
        for group, patterns in groups.items():
            taken = placed.setdefault(tab, {}).setdefault(group, [])
            for pattern in patterns:
                # fnmatch's star passes slashes: a pattern is of pages as deep as itself.
                fits = [p for p in left if fnmatch(p, pattern) and p.count("/") == pattern.count("/")]
                taken += fits
                left = [page for page in left if page not in fits]
    return placed
