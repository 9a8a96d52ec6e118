"""DCAT 3 as JSON-LD. It has one ``dcat:Dataset`` with a ``dcat:Distribution`` for each released file.

Source: W3C Recommendation "Data Catalog Vocabulary (DCAT) - Version 3" (2024); checksums as its section on
``spdx:checksum`` says. The mandatory properties of DCAT-AP 3 (title, description; accessURL) are present.
"""

from __future__ import annotations

from typing import Any

from core.reports.catalogues.context import Context, description, keywords, limits, title
from core.reports.model import PublicPart, ReleasedFile
from core.reports.text import plain

PREFIXES = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "graphveil": "urn:graphveil:terms:",
    "prov": "http://www.w3.org/ns/prov#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"


def dcat(public: PublicPart, context: Context) -> dict[str, Any]:
    """Write the release as a DCAT dataset. Publisher and licence are there only where they were given."""
    given = context.publication
    here = context.job_url(public)
    document: dict[str, Any] = {
        "@context": PREFIXES,
        "@id": here,
        "@type": "dcat:Dataset",
        "dct:title": _text(title(public, context)),
        "dct:description": _text(description(public)),
        "dct:identifier": public.provenance.job_id,
        "dct:issued": _typed(context.released_on.isoformat(), "date"),
        "dcat:keyword": [_text(word) for word in keywords(public)],
        "dcat:landingPage": {"@id": f"{here}/report.html"},
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": _text(_provenance(public))},
        "prov:wasGeneratedBy": _activity(public, context),
        **_guarantee(public),
        "dcat:distribution": [_distribution(public, context, file) for file in public.provenance.artifacts],
    }
    if public.statistics.steps is not None:
        # The grid's unit is not part of the public report: a number of snapshots, not a duration.
        document["graphveil:snapshots"] = _typed(str(public.statistics.steps), "nonNegativeInteger")
    if given.publisher is not None:
        document["dct:publisher"] = {"@type": "foaf:Organization", "foaf:name": given.publisher}
    if given.region is not None:
        document["dct:spatial"] = {"@type": "dct:Location", "rdfs:label": _text(given.region)}
    return document


def _distribution(public: PublicPart, context: Context, file: ReleasedFile) -> dict[str, Any]:
    url = context.file_url(public, file.name)
    distribution: dict[str, Any] = {
        "@id": f"{url}#distribution",
        "@type": "dcat:Distribution",
        "dct:title": _text(file.name),
        "dcat:accessURL": {"@id": url},
        "dcat:downloadURL": {"@id": url},
        # IANA's addresses are of media types without parameters.
        "dcat:mediaType": {"@id": MEDIA_TYPES + file.media_type.partition(";")[0].strip()},
        "dcat:byteSize": _typed(str(file.size_bytes), "nonNegativeInteger"),
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": _typed(file.sha256, "hexBinary"),
        },
    }
    if context.publication.license is not None:
        distribution["dct:license"] = {"@id": context.publication.license}
    return distribution


def _activity(public: PublicPart, context: Context) -> dict[str, Any]:
    provenance = public.provenance
    return {
        "@id": f"{context.job_url(public)}#run",
        "@type": "prov:Activity",
        "rdfs:label": _text(provenance.method_title),
        "dct:identifier": provenance.plan_digest,
        "prov:used": {"@id": context.dataset_url(public), "dcat:version": provenance.dataset_version},
        "prov:wasAssociatedWith": {
            "@type": "prov:SoftwareAgent",
            "foaf:name": "Graphveil",
            "dcat:version": provenance.graphveil_version,
        },
    }


def _guarantee(public: PublicPart) -> dict[str, Any]:
    given = public.guarantee
    terms: dict[str, Any] = {
        "graphveil:guaranteeKind": given.kind,
        "graphveil:privacyUnit": given.unit.value,
        "graphveil:notCovered": [_text(text) for text in limits(public)],
    }
    if given.epsilon is not None and given.delta is not None:
        terms["graphveil:epsilon"] = _typed(given.epsilon, "decimal")
        terms["graphveil:delta"] = _typed(given.delta, "decimal")
    if given.window is not None:
        terms["graphveil:windowSnapshots"] = _typed(str(given.window), "nonNegativeInteger")
    return terms


def _provenance(public: PublicPart) -> str:
    provenance = public.provenance
    return (
        f"Synthesised by Graphveil {provenance.graphveil_version} with the method {provenance.method} from "
        f"version {provenance.dataset_version} of the dataset {provenance.dataset_id}, which stays private."
        f" {public.guarantee.statement}"
    )


def _text(value: str) -> dict[str, str]:
    return {"@language": "en", "@value": plain(value)}


def _typed(value: str, name: str) -> dict[str, str]:
    return {"@type": f"xsd:{name}", "@value": value}
