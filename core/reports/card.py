"""The dataset card of a release. It is Markdown with YAML front matter, as the Hugging Face hub reads it.

A function of the public part and of what the publisher says: the curator part and the charge are not in it.
"""

from __future__ import annotations

from core.reports.catalogues.context import (
    EDGES,
    NODE_COLUMNS,
    NODES,
    Publication,
    edge_files,
    edges_of,
    keywords,
    limits,
)
from core.reports.markdown import shown, written
from core.reports.model import PublicPart
from core.reports.reproduction import command
from core.reports.sections import graph, promise, provenance
from core.reports.text import escape, fenced, items, quoted, table

# The hub's closed list of sizes: below so many rows.
_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
    (10**9, "100M<n<1B"),
)


def card(public: PublicPart, publication: Publication | None = None) -> str:
    """Write the card, UTF-8, with a line feed at its end. Licence and publisher only where they are given."""
    given = publication or Publication()
    name = given.title or f"Synthetic graph {public.provenance.job_id}"
    lines = [*_front_matter(public, given, name), f"# {escape(name)}", ""]
    copied = any(kind.copied for kind in public.statistics.edge_types)
    lines += [
        f"A synthetic graph made by {escape(public.provenance.method_title)} with Graphveil "
        f"{escape(public.provenance.graphveil_version)}."
        + (" Relations that are marked as copied are those of the original." if copied else ""),
        "",
    ]
    if given.publisher is not None:
        lines += [f"Published by {escape(given.publisher)}.", ""]
    if given.intended_use is not None:
        lines += ["## Intended use", "", escape(given.intended_use), ""]
    return "\n".join([*lines, *_privacy(public), *_contents(public), *_making(public)]).rstrip("\n") + "\n"


def _front_matter(public: PublicPart, said: Publication, name: str) -> list[str]:
    rows = edges_of(public)
    size = next((label for bound, label in _SIZES if rows < bound), "1B<n<10B")
    # Quoted: YAML takes some names for numbers, dates or lists.
    lines = ["---", f"pretty_name: {quoted(name)}"]
    if said.license is not None:
        # The hub knows licences by short names only: any other is told by its address.
        lines += ["license: other", f"license_link: {quoted(said.license)}"]
    lines += ["task_categories:", "- graph-ml", "size_categories:", f"- {quoted(size)}"]
    lines += ["annotations_creators:", "- machine-generated", "tags:"]
    lines += [f"- {quoted(word.replace(' ', '-'))}" for word in [*keywords(public), "graphveil"]]
    files = {file.name for file in public.provenance.artifacts}
    tables = [(label, file) for label, file in (("edges", EDGES), ("nodes", NODES)) if file in files]
    if tables:
        lines.append("configs:")
        for label, file in tables:
            lines += [f"- config_name: {label}", f"  data_files: {quoted(file)}"]
    return [*lines, "---", ""]


def _privacy(public: PublicPart) -> list[str]:
    given = public.guarantee
    rows: list[tuple[str, object]] = [
        ("Guarantee", given.kind),
        ("Epsilon", given.epsilon or "none"),
        ("Delta", given.delta or "none"),
        ("Protected unit", given.unit.value),
    ]
    if given.window is not None:
        rows.append(("Window, snapshots", given.window))
    rows.append(("How the method was checked", given.assurance))
    lines = ["## Privacy", "", escape(given.statement), "", *table(("", ""), rows)]
    lines += [*items(given.reasons)]
    lines += ["What the guarantee does not cover:", "", *items(limits(public))]
    return lines + written(promise.precision_sections(public, None))


def _contents(public: PublicPart) -> list[str]:
    statistics = public.statistics
    lines = ["## Contents", "", *shown(graph.counts(statistics))]
    if statistics.steps is not None:
        lines += [f"{statistics.steps} snapshots, numbered from 0.", ""]
    lines += shown([provenance.files(public.provenance)])
    columns = [(NODES, NODE_COLUMNS), edge_files(public)]
    return lines + table(
        ("Table", "Column", "Type", "Meaning"),
        ((file, name, kind, meaning) for file, found in columns for name, (kind, meaning) in found.items()),
    )


def _making(public: PublicPart) -> list[str]:
    lines = ["## How it was made", "", *fenced(command(public), "sh")]
    if public.provenance.chosen_because is not None:
        lines += [f"The method was chosen by auto. {escape(public.provenance.chosen_because)}", ""]
    return [
        *lines,
        f"Digest of the privacy plan: {public.provenance.plan_digest}. Comparisons with the original are not "
        "published: they would be statements about the private graph that no budget was paid for.",
        "",
    ]
