"""Croissant 1.0 of a release. It has files, and the record sets ``nodes`` and ``edges`` that their columns
make.

Source: MLCommons, "Croissant Format Specification", version 1.0, and its RAI extension for what the guarantee
covers. Croissant wants a licence and a creator: they are there when the publisher gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.reports.catalogues.context import (
    EDGE_COLUMNS,
    EDGES,
    NODE_COLUMNS,
    NODES,
    Context,
    description,
    keywords,
    limits,
    title,
)
from core.reports.model import PublicPart
from core.reports.text import plain

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
RAI_CONFORMS_TO = "http://mlcommons.org/croissant/RAI/1.0"
TYPES = {"string": "sc:Text", "int32": "sc:Integer", "float32": "sc:Float"}
WEIGHT_COLUMN = {
    "weight": ("float32", "Weight of the pair, above 0 and at most 1; null in a relation without.")
}


def croissant(public: PublicPart, context: Context) -> dict[str, Any]:
    """Write the release as a Croissant dataset. Further columns of public attributes are in schema.json."""
    given = context.publication
    files = {file.name for file in public.provenance.artifacts}
    document: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [CONFORMS_TO, RAI_CONFORMS_TO],
        "name": title(public, context),
        "description": description(public),
        "url": f"{context.job_url(public)}/report.html",
        "identifier": public.provenance.job_id,
        "version": "1.0.0",  # a release never changes
        "datePublished": context.released_on.isoformat(),
        "keywords": keywords(public),
        "isLiveDataset": False,
        "rai:personalSensitiveInformation": plain(public.guarantee.statement),
        "rai:dataLimitations": limits(public),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file.name,
                "name": file.name,
                "contentUrl": context.file_url(public, file.name),
                "contentSize": f"{file.size_bytes} B",
                "encodingFormat": _encoding(file.media_type),
                "sha256": file.sha256,
            }
            for file in public.provenance.artifacts
        ],
        "recordSet": [],
    }
    if given.license is not None:
        document["license"] = given.license
    if given.publisher is not None:
        document["creator"] = document["publisher"] = {"@type": "sc:Organization", "name": given.publisher}
    if NODES in files:
        document["recordSet"].append(_records("nodes", NODES, NODE_COLUMNS, ("type", "id")))
    if {NODES, EDGES} <= files:
        weighted = public.parameters.get("release") == "weighted"
        edges = _records("edges", EDGES, EDGE_COLUMNS | (WEIGHT_COLUMN if weighted else {}))
        # Source and target, which come first: both name nodes.
        for field in edges["field"][:2]:
            field["references"] = {"field": {"@id": "nodes/id"}}
        document["recordSet"].append(edges)
    return document


def _records(
    name: str, file: str, columns: Mapping[str, tuple[str, str]], key: tuple[str, ...] = ()
) -> dict[str, Any]:
    record_set: dict[str, Any] = {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"The rows of {file}.",
    }
    if key:
        record_set["key"] = [{"@id": f"{name}/{column}"} for column in key]
    record_set["field"] = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": f"{name}/{column}",
            "description": meaning,
            "dataType": TYPES[kind],
            "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
        }
        for column, (kind, meaning) in columns.items()
    ]
    return record_set


def _encoding(media_type: str) -> str:
    """Name a media type as Croissant's readers do: they know Parquet by its name before registration."""
    bare = media_type.partition(";")[0].strip()
    return "application/x-parquet" if bare == "application/vnd.apache.parquet" else bare
