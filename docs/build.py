"""``python docs/build.py``: pages of generators, metrics, settings and results, and the report's schema."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import numpy as np
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from core.evaluation import catalogue, node_values, node_vectors, values
from core.evaluation.attacks.learned import SCORERS
from core.evaluation.attacks.membership import ATTACKS
from core.evaluation.attacks.run import link_attacks
from core.evaluation.metric import Metric
from core.evaluation.tasks.run import TASKS
from core.evaluation.view import UndirectedView
from core.evaluation.whole.compare import OVER_TIME, WHOLE
from core.methods._shared.values.stage import VALUES
from core.methods.base import Method, Parameters, never
from core.methods.registry import generators
from core.reports.measured import FAMILIES
from core.reports.model import Report
from core.settings import Settings
from papers._shared import deviations
from papers._shared.benchmarks import published_data

DOCS = Path(__file__).resolve().parent
PACK_TEXTS = {"promise.md": "PRIVACY_PROMISE.md", "standards.md": "docs/standards.md"}
"""What each evidence pack holds of the pages that are written by hand: wheels and images have no others."""

PAPERS = DOCS.parent / "papers"
DEVIATIONS = re.compile(r"(<!-- deviations -->\n).*?(<!-- /deviations -->)", re.DOTALL)
"""Where a paper's page has the table of its published form's deviations."""

TABLE = re.compile(r"^(<!-- table (\S+)/(\S+) -->\n\n)(?:\*\*.+\*\*\n\n)?(?:\|.*\n)*", re.MULTILINE)
"""A table of the results' page: the file and the name of its data in ``docs/results``, then what they say."""


def pages() -> dict[Path, str]:
    """Every generated page, by its path."""
    found = {DOCS / "generators" / f"{name}.md": _generator(g) for name, g in generators().items()}
    return {
        **found,
        **{DOCS / "papers" / f"{name}.md": _paper(name) for name in stated()},
        DOCS / "papers" / "data.md": published_data.page(),
        DOCS / "metrics.md": _metrics(),
        DOCS / "settings.md": _settings(),
        DOCS / "results.md": _results(),
        DOCS / "report.schema.json": _report_schema(),
        **{
            DOCS.parent / "core/reports/pack/texts" / name: (DOCS.parent / page).read_text(encoding="utf-8")
            for name, page in PACK_TEXTS.items()
        },
    }


def stated() -> list[str]:
    """Name the papers whose folder says what the paper states."""
    return sorted(path.parent.name for path in PAPERS.glob("*/stated.py"))


def _paper(name: str) -> str:
    """A paper's page: its prose as it is, its deviations from the code."""
    page = (DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")
    said = importlib.import_module(f"papers.{name}.stated")
    table = deviations.table(generators()[name].Params(), said.STATED, said.REASONS)
    return DEVIATIONS.sub(lambda place: f"{place[1]}\n{table}\n{place[2]}", page)


def _generator(generator: Method) -> str:
    described = sys.modules[generator.module]
    page = Path(described.__file__ or "").with_name("page.md")  # of a method too long for a docstring
    text = page.read_text(encoding="utf-8").strip() if page.exists() else inspect.getdoc(described) or ""
    accepts = [name for name, value in vars(generator.accepts).items() if value]
    return (
        f"# {generator.title} (`{generator.name}`)\n\n{text}\n\n"
        f"- Guarantee: {', '.join(sorted(generator.kinds))}\n"
        f"- Privacy units: {', '.join(sorted(generator.units))}\n"
        f"- Graphs: {', '.join(accepts)}\n"
        f"- Assurance: {generator.assurance}\n{_accelerator(generator)}{_reads(generator.Params)}\n"
        f"## Parameters\n\n{_table(generator.Params)}\n"
        f"## How the plan is made\n\n{_plan(generator)}\n"
    )


def _accelerator(generator: Method) -> str:
    """What the method's own class says of GPUs; nothing where none of its jobs gains from one."""
    if generator.accelerator is None:
        return ""
    return f"- GPU: {inspect.getdoc(generator.accelerator)}\n"


def _plan(generator: Method) -> str:
    """What the method says of its plans, and what is paid for beside edges."""
    texts = [inspect.cleandoc(generator.plan.__doc__ or "")]
    if generator.carries is not never:
        texts.append(
            f"With `{VALUES.field}`, that share of epsilon pays for tables of what edges carry, of all steps "
            "together (of a live stream, of each step), and the rest for the above. Reads and proofs: "
            "[edge values](../edge_values.md)."
        )
    return "\n\n".join(texts)


def _reads(model: type[Parameters]) -> str:
    """The reads whose shares may be set together, where the method names any."""
    named = ", ".join(model.READS)
    return f"- Shares that may be set together (`shares`): {named}\n" if named else ""


def _metrics() -> str:
    """Every metric by family, then every attack on links, every task, and what the score reads."""
    families: dict[str, list[Metric]] = {}
    carried = [
        metric
        for family in (values, node_values, node_vectors)
        for metric in (*family.SCALARS, *family.DISTANCES)
    ]
    for metric in (*catalogue.SCALARS, *catalogue.DISTANCES, *carried, *WHOLE, *OVER_TIME):
        families.setdefault(metric.family, []).append(metric)
    parts = [
        "# Metrics and attacks\n\nWhat a report measures, by family. A suite computes its own metrics and "
        "those of the suites before it: `quick`, `standard`, `full`. Closeness: which way a distance between "
        "two graphs is better; a metric of one graph is printed for both. See [evaluation](evaluation.md)."
    ]
    for family, metrics in families.items():
        rows = ["| metric | suite | definition | closeness |", "|---|---|---|---|"]
        for m in metrics:
            closer = m.better or "(one graph)"
            rows.append(f"| `{m.name}` | {m.suite} | {_cell(m.definition)} | {closer} |")
        parts.append(f"## {family.replace('_', ' ').capitalize()}\n\n" + "\n".join(rows))
    rows = ["| attack | suite | what the attacker knows and does |", "|---|---|---|"]
    attacks = [attack.against_release for attack in link_attacks(_NO_LINKS, (), SCORERS)]
    rows += [f"| `{a.name}` | {a.suite} | {_cell(a.knowledge)} |" for a in attacks]
    parts.append("## Attacks on links\n\n" + "\n".join(rows))
    rows = ["| attack | suite | what the attacker knows and does |", "|---|---|---|"]
    rows += [f"| `{name}` | standard | {_cell(knowledge)} |" for name, _, knowledge in ATTACKS]
    parts.append("## Attacks on who took part (unit `node`)\n\n" + "\n".join(rows))
    rows = ["| task | suite | what is trained and tested |", "|---|---|---|"]
    rows += [f"| `{name}` | {suite} | {_cell(definition)} |" for name, suite, definition in TASKS]
    parts.append("## Tasks\n\n" + "\n".join(rows))
    rows = ["| family | members |", "|---|---|"]
    rows += [f"| {title} | {', '.join(f'`{m.metric}`' for m in members)} |" for _, title, members in FAMILIES]
    parts.append(
        "## The utility score\n\nThe metrics that the curators' utility score reads, each between a uniform "
        "random graph (0) and a resample of the original (10); of a family the worst counts. See "
        "[evaluation](evaluation.md).\n\n" + "\n".join(rows)
    )
    return "\n\n".join(parts) + "\n"


_NO_LINKS = UndirectedView.of_pairs(2, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _results() -> str:
    """The page of results: its prose as it is, its tables from their data."""
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    return TABLE.sub(lambda place: place[1] + _shown(place[2], place[3]), page)


def _shown(file: str, name: str) -> str:
    table = json.loads((DOCS / "results" / f"{file}.json").read_text(encoding="utf-8"))["tables"][name]
    title = f"**{table['title']}**\n\n" if "title" in table else ""
    head, *rows = (f"| {' | '.join(cells)} |\n" for cells in (table["columns"], *table["rows"]))
    return f"{title}{head}|{'---|' * len(table['columns'])}\n{''.join(rows)}"


def _settings() -> str:
    return (
        "# Settings\n\nRead once from environment variables; each process prints what is wrong and stops. "
        f"Names are prefixed with `GRAPHVEIL_`.\n\n{_table(Settings, upper=True)}"
    )


def _table(model: type[BaseModel], *, upper: bool = False) -> str:
    rows = ["| name | default | meaning |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        shown = name.upper() if upper else name
        rows.append(f"| `{shown}` | `{_default(field)}` | {field.description or ''} |")
    return "\n".join(rows) + "\n"


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return str(value) if str(value) else "(none)"


def _report_schema() -> str:
    """The JSON Schema (2020-12) of a report, as it is served."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(schema | Report.model_json_schema(mode="serialization"), indent=2) + "\n"


def main() -> None:
    """The pages on disk are those of the code."""
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
