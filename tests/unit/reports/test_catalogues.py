"""The catalogue forms: what their specifications require, from every kind of release."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from core.privacy.units import Unit
from core.reports.catalogues.context import Context, Publication
from core.reports.catalogues.dcat import PREFIXES
from core.reports.catalogues.forms import MEDIA_TYPES, Form, metadata
from core.reports.model import PublicPart
from core.reports.text import plain
from tests.support import reports

DAY = date(2026, 3, 4)
SAID = Publication(
    title="Mail 2024",
    publisher="City Hospital",
    publisher_type="Nonprofit",
    license="https://creativecommons.org/licenses/by/4.0/",
    intended_use="Teaching",
    region="Europe",
    author="A. Steward",
)
HERE = "https://gv.example/v1/jobs/job_01k8zv2v9h6t0h3r6b8mkx2n4e"

FACET = {
    "type": "object",
    "required": ["_producer", "_schemaURL"],
    "properties": {
        "_producer": {"type": "string", "pattern": "^https://"},
        "_schemaURL": {"type": "string", "pattern": r"^https://openlineage\.io/spec/.*#/\$defs/[A-Za-z]+$"},
    },
}
DATASET = {
    "type": "object",
    "required": ["namespace", "name"],
    "additionalProperties": False,
    "properties": {
        "namespace": {"type": "string"},
        "name": {"type": "string"},
        "facets": {"additionalProperties": FACET},
        "outputFacets": {"additionalProperties": FACET},
    },
}
# After OpenLineage.json 2-0-2: what a run event must hold, and that every facet is a base facet.
RUN_EVENT = {
    "type": "object",
    "required": ["eventType", "eventTime", "run", "job", "producer", "schemaURL"],
    "additionalProperties": False,
    "properties": {
        "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        "eventTime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "producer": {"type": "string"},
        "schemaURL": {"const": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"},
        "run": {
            "type": "object",
            "required": ["runId", "facets"],
            "properties": {
                "runId": {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
                "facets": {"additionalProperties": FACET},
            },
        },
        "job": {
            "type": "object",
            "required": ["namespace", "name"],
            "properties": {"facets": {"additionalProperties": FACET}},
        },
        "inputs": {"type": "array", "items": DATASET},
        "outputs": {"type": "array", "items": DATASET},
    },
}


def _closed(required: str = "", optional: str = "", **shapes: Any) -> dict[str, Any]:
    """A closed object of texts, but for the properties whose shapes are given."""
    names = {*required.split(), *optional.split(), *shapes}
    properties = {name: shapes.get(name, {"type": "string"}) for name in names}
    return {
        "type": "object",
        "required": required.split(),
        "additionalProperties": False,
        "properties": properties,
    }


def entry_schema(*, complete: bool) -> dict[str, Any]:
    """The registry's deployments-schema.yaml; without its publisher's own fields where not ``complete``."""
    own = "data_curators intended_use data_product_region" if complete else ""
    curator = _closed(
        "data_curator_name data_curator_type",
        data_curator_type={"enum": ["Government", "Industry", "Nonprofit"]},
    )
    return _closed(
        "url_slug deployment",
        deployment=_closed(
            "basic administrative",
            basic=_closed(
                f"name description data_product_type publication_date {own}",
                "data_product_region intended_use",
                data_curators={"type": "array", "items": curator, "minItems": 1},
                data_product_type={"enum": ["Synthetic data"]},
                publication_date={"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
            ),
            dp_variant=_closed(
                "variant_name data_domain unprotected_quantities",
                variant_name={"enum": ["Pure DP", "Approximate DP"]},
            ),
            privacy_loss=_closed(
                "privacy_unit privacy_parameters",
                "privacy_unit_details privacy_parameters_details",
                privacy_parameters=_closed(
                    "epsilon", epsilon={"type": "number"}, delta={"type": ["number", "string"]}
                ),
            ),
            deployment_model=_closed(
                "model_name",
                "trust_assumptions release_type_details",
                model_name={"const": "Central"},
                release_type={"enum": ["One release", "Many releases"]},
                data_source_type={"enum": ["Static", "Dynamic"]},
                access_type={"enum": ["Interactive", "Non-interactive"]},
            ),
            implementation=_closed(
                "mechanisms composition",
                "preprocessing_and_hyperparameter_tuning post_processing additional_information",
            ),
            administrative=_closed(
                "status tier registry_authors" if complete else "status tier",
                status={"const": "Draft"},
                tier={"enum": [1, 2, 3]},
                registry_authors={"type": "array", "items": {"type": "string"}, "minItems": 1},
                evidence_sources={"type": "object"},
            ),
        ),
    )


def made(form: Form, part: PublicPart, said: Publication = SAID) -> dict[str, Any]:
    """The form, as it is after a trip through strict JSON."""
    found = metadata(form, part, Context("https://gv.example/", DAY, said))
    return json.loads(json.dumps(found, allow_nan=False))


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


parts = pytest.mark.parametrize(
    "part", [make() for make in reports.EVERY_PART.values()], ids=reports.EVERY_PART
)
forms = pytest.mark.parametrize("form", list(Form))


@forms
@parts
def test_everyone_is_given_the_same_bytes(form: Form, part: PublicPart):
    paid = part.model_copy(update={"charge": reports.charge()})
    assert json.dumps(made(form, part)) == json.dumps(made(form, paid))
    assert "987654321" not in json.dumps(made(form, paid))


@forms
@parts
def test_every_file_is_named_with_its_digest_and_place(form: Form, part: PublicPart):
    if form is Form.DEPLOYMENT:  # the registry describes releases, not files
        assert f"{HERE}/report.html" in json.dumps(made(form, part))
        return
    text = json.dumps(made(form, part))
    for file in part.provenance.artifacts:
        assert file.sha256 in text
        place = f"{part.provenance.job_id}/{file.name}"
        assert (f"{HERE}/artifacts/{file.name}" if form is not Form.OPENLINEAGE else place) in text


@forms
@parts
def test_nothing_is_made_up_for_the_publisher(form: Form, part: PublicPart):
    text = json.dumps(made(form, part, Publication()))
    for words in ("City Hospital", "creativecommons", "Teaching", "Europe", "A. Steward", "TODO"):
        assert words not in text


@forms
def test_no_form_has_a_place_for_a_comparison(form: Form):
    curators = {
        "original",
        "synthetic",
        "absolute_error",
        "relative_error",
        "comparison",
        "attacks",
        "charge",
    }
    found = {key for node in nodes(made(form, reports.temporal())) for key in node}
    assert not found & curators


@parts
def test_dcat_has_what_the_vocabulary_requires(part: PublicPart):
    found = made(Form.DCAT, part)
    assert found["@context"] == PREFIXES
    assert (found["@id"], found["@type"]) == (HERE, "dcat:Dataset")
    assert found["dct:title"] == {"@language": "en", "@value": "Mail 2024"}
    assert found["dct:description"]["@value"]
    assert found["dct:issued"] == {"@type": "xsd:date", "@value": "2026-03-04"}
    assert found["dct:publisher"] == {"@type": "foaf:Organization", "foaf:name": "City Hospital"}
    assert len(found["dcat:distribution"]) == len(part.provenance.artifacts)
    for shown, file in zip(found["dcat:distribution"], part.provenance.artifacts, strict=True):
        assert shown["@type"] == "dcat:Distribution"
        assert shown["dcat:accessURL"] == shown["dcat:downloadURL"]
        assert shown["dcat:byteSize"] == {"@type": "xsd:nonNegativeInteger", "@value": str(file.size_bytes)}
        assert re.fullmatch(
            r"https://www\.iana\.org/assignments/media-types/[a-z]+/[\w.+-]+", shown["dcat:mediaType"]["@id"]
        )
        assert shown["spdx:checksum"] == {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
        }
        assert shown["dct:license"] == {"@id": SAID.license}


@parts
def test_every_term_of_dcat_has_a_declared_prefix_and_every_literal_its_form(part: PublicPart):
    found = made(Form.DCAT, part)
    graph = {key: value for key, value in found.items() if key != "@context"}
    for node in nodes(graph):
        for key in node:
            assert key.startswith("@") or key.partition(":")[0] in PREFIXES, key
        kind, value = node.get("@type"), node.get("@value")
        if kind == "xsd:decimal":
            assert Decimal(value) >= 0
        if kind == "xsd:hexBinary":
            assert bytes.fromhex(value)


@pytest.mark.parametrize(
    ("part", "epsilon", "snapshots"),
    [(reports.static(), "1.5", None), (reports.temporal(), "1.5", "12"), (reports.unbounded(), None, None)],
)
def test_dcat_says_guarantee_and_snapshots(part: PublicPart, epsilon: str | None, snapshots: str | None):
    found = made(Form.DCAT, part)
    assert found.get("graphveil:epsilon", {}).get("@value") == epsilon
    assert found.get("graphveil:snapshots", {}).get("@value") == snapshots
    assert found["graphveil:guaranteeKind"] == part.guarantee.kind


@parts
def test_croissant_has_what_its_specification_requires(part: PublicPart):
    found = made(Form.CROISSANT, part)
    required = {"@context", "@type", "conformsTo", "description", "license", "name", "url", "creator"}
    assert required | {"datePublished", "distribution"} <= set(found)
    assert "http://mlcommons.org/croissant/1.0" in found["conformsTo"]
    assert found["@type"] == "sc:Dataset"
    for file in found["distribution"]:
        assert file["@type"] == "cr:FileObject"
        assert {"@id", "name", "contentUrl", "contentSize", "encodingFormat"} <= set(file)
        assert re.fullmatch("[0-9a-f]{64}", file["sha256"])


@parts
def test_every_reference_of_croissant_leads_somewhere(part: PublicPart):
    found = made(Form.CROISSANT, part)
    ids = [node["@id"] for node in nodes(found) if "@id" in node and len(node) > 1 and "@type" in node]
    # Aliases in the context have an @id too, but are no objects.
    declared = [i for i in ids if not i.startswith("cr:")]
    assert len(set(declared)) == len(declared)
    body = {key: value for key, value in found.items() if key != "@context"}
    references = [node["@id"] for node in nodes(body) if set(node) == {"@id"}]
    assert references
    assert set(references) <= set(declared)
    records = {r["@id"]: [f["source"]["extract"]["column"] for f in r["field"]] for r in found["recordSet"]}
    assert records == {"nodes": ["id", "type"], "edges": ["source", "target", "type", "step"]}
    kinds = {field["@id"]: field["dataType"] for r in found["recordSet"] for field in r["field"]}
    assert kinds["edges/step"] == "sc:Integer"
    assert {kind for name, kind in kinds.items() if name != "edges/step"} == {"sc:Text"}


def test_croissant_describes_only_files_that_are_there():
    part = reports.static()
    files = tuple(file for file in part.provenance.artifacts if file.name == "graph.csv")
    provenance = part.provenance.model_copy(update={"artifacts": files})
    assert made(Form.CROISSANT, part.model_copy(update={"provenance": provenance}))["recordSet"] == []


@parts
def test_openlineage_is_a_run_event(part: PublicPart):
    found = made(Form.OPENLINEAGE, part)
    jsonschema.Draft202012Validator(RUN_EVENT).validate(found)
    assert (found["eventType"], found["eventTime"]) == ("COMPLETE", "2026-03-04T00:00:00Z")
    given = found["run"]["facets"]["graphveil_guarantee"]
    assert (given["epsilon"], given["kind"]) == (part.guarantee.epsilon, part.guarantee.kind)
    standard = {"processing_engine", "jobType", "version", "schema", "outputStatistics"}
    facets = {k for node in nodes(found) for key in ("facets", "outputFacets") for k in node.get(key, {})}
    assert {name for name in facets - standard if not name.startswith("graphveil_")} == set()
    rows = {
        output["name"].rsplit("/", 1)[1]: output["outputFacets"]["outputStatistics"].get("rowCount")
        for output in found["outputs"]
    }
    assert rows["edges.parquet"] == sum(kind.edges for kind in part.statistics.edge_types)
    assert rows["nodes.parquet"] == sum(part.statistics.nodes.values())
    assert rows["graph.csv"] is None


def test_one_job_is_one_run_wherever_it_is_asked_for():
    ids = {
        metadata(Form.OPENLINEAGE, reports.static(), Context(url, DAY))["run"]["runId"]
        for url in ("https://gv.example", "http://localhost:8000")
    }
    assert len(ids) == 1


@pytest.mark.parametrize("said", [SAID, Publication()], ids=["complete", "bare"])
@parts
def test_a_deployment_is_an_entry_of_the_registry(part: PublicPart, said: Publication):
    found = made(Form.DEPLOYMENT, part, said)
    jsonschema.Draft202012Validator(entry_schema(complete=said is SAID)).validate(found)
    assert re.fullmatch("[a-z0-9-]+", found["url_slug"])
    entry = found["deployment"]
    if part.guarantee.kind == "none":
        assert not {"dp_variant", "privacy_loss"} & set(entry)
        assert entry["administrative"]["tier"] == 1
        assert "No privacy guarantee" in entry["basic"]["description"]
        assert "not proven here" in entry["implementation"]["additional_information"]
    elif part.guarantee.kind == "unread":
        assert not {"dp_variant", "privacy_loss"} & set(entry)
        assert "nothing was read" in entry["basic"]["description"]
        assert "metered" not in json.dumps(entry["implementation"])
    else:
        assert entry["privacy_loss"]["privacy_parameters"]["epsilon"] == 1.5
        approximate = part.guarantee.kind == "approximate"
        assert ("delta" in entry["privacy_loss"]["privacy_parameters"]) == approximate
        assert entry["dp_variant"]["variant_name"] == ("Approximate DP" if approximate else "Pure DP")


def test_the_registry_is_told_what_is_not_covered():
    entry = made(Form.DEPLOYMENT, reports.temporal())["deployment"]
    unprotected = entry["dp_variant"]["unprotected_quantities"]
    for words in ("node set", "time grid", "4 consecutive snapshots", "is_a: It is copied as it is."):
        assert words in unprotected
    assert "4 consecutive snapshots" in entry["privacy_loss"]["privacy_unit_details"]


def test_the_registry_is_told_that_a_node_is_the_unit():
    part = reports.static()
    given = part.guarantee.model_copy(update={"unit": Unit.NODE})
    loss = made(Form.DEPLOYMENT, part.model_copy(update={"guarantee": given}))["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "Node (person-level, also called user-level)"
    assert "replaced by any others" in loss["privacy_unit_details"]


@forms
def test_hostile_names_are_one_line_of_text(form: Form):
    found = made(form, reports.hostile())
    texts = [v for node in nodes(found) for v in node.values() if isinstance(v, str)]
    long = [text for text in texts if plain(reports.HOSTILE) in text or "&lt;script&gt;" in text]
    assert long
    if form is Form.DEPLOYMENT:  # its texts are rendered as Markdown
        assert not [text for text in texts if "<script>" in text or "](" in text.replace("\\](", "")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"license": "javascript:alert(1)"},
        {"license": "https://h.example/ x"},
        {"publisher": ""},
        {"publisher_type": "Church"},
        {"colour": "red"},
        {"title": "t" * 301},
    ],
)
def test_what_a_publisher_may_say_is_bounded(wrong: dict[str, str]):
    with pytest.raises(ValidationError):
        Publication.model_validate(wrong)


def test_every_form_has_a_media_type():
    assert set(MEDIA_TYPES) == set(Form)
