"""Payloads of the emitters against what the catalogues publish of themselves; run by `make check-catalogues`.

Reads the calls of ``tests.support.pushed`` from the standard input, in an environment that holds
``openlineage-python`` (its event classes), ``acryl-datahub`` (its Avro schemas) and
``openmetadata-ingestion`` (models generated from its JSON Schemas, closed against unknown fields).
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import distribution, version
from types import ModuleType
from typing import Any

import fastavro
import pydantic
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

ASPECTS = {
    "datasetProperties": "DatasetProperties",
    "subTypes": "SubTypes",
    "upstreamLineage": "UpstreamLineage",
}


def openlineage(calls: list[dict[str, Any]]) -> int:
    """Build each event from the package's classes, which check what they are given."""
    for call in calls:
        event = dict(call["content"])
        schema = event.pop("schemaURL")
        made = RunEvent(
            eventTime=event.pop("eventTime"),
            eventType=RunState[event.pop("eventType")],
            producer=event.pop("producer"),
            run=Run(**event.pop("run")),
            job=Job(**event.pop("job")),
            inputs=[InputDataset(**each) for each in event.pop("inputs")],
            outputs=[OutputDataset(**each) for each in event.pop("outputs")],
        )
        assert not event, event
        assert made.schemaURL.rsplit("/", 1)[1] == schema.rsplit("/", 1)[1] == "RunEvent"
    return len(calls)


def datahub(calls: list[dict[str, Any]]) -> int:
    """Hold every aspect, with the defaults of what it leaves out, against its Avro schema."""
    count = 0
    folder = "datahub/metadata/schemas"
    proposed = _avro(f"{folder}/MetadataChangeProposal.avsc")
    for call in calls:
        for proposal in call["content"]["proposals"]:
            value = proposal["aspect"]["value"].encode()
            _fits({**proposal, "aspect": {**proposal["aspect"], "value": value}}, proposed)
            _fits(json.loads(value), _avro(f"{folder}/{ASPECTS[proposal['aspectName']]}.avsc"))
            count += 1
    return count


def _avro(path: str) -> Any:
    file = next(each for each in distribution("acryl-datahub").files or () if str(each) == path)
    return fastavro.parse_schema(json.loads(file.read_text()))


def _fits(value: dict[str, Any], schema: Any) -> None:
    assert set(value) <= {field["name"] for field in schema["fields"]}, value
    assert fastavro.validate(value, schema, raise_errors=True)


def openmetadata(calls: list[dict[str, Any]]) -> int:
    """Validate each content by the model of its request."""
    # The package's own start needs all that it can ingest from; its generated models need pydantic alone.
    package = sys.modules["metadata"] = ModuleType("metadata")
    package.__path__ = [str(distribution("openmetadata-ingestion").locate_file("metadata"))]
    for name in ("ingestion", "ingestion.models", "ingestion.models.custom_pydantic"):
        sys.modules[f"metadata.{name}"] = ModuleType(name)
    base = sys.modules["metadata.ingestion.models.custom_pydantic"]
    base.BaseModel, base.CustomSecretStr = pydantic.BaseModel, pydantic.SecretStr  # type: ignore[attr-defined]
    from metadata.generated.schema.api.data.createContainer import CreateContainerRequest
    from metadata.generated.schema.api.lineage.addLineage import AddLineageRequest
    from metadata.generated.schema.api.services.createStorageService import CreateStorageServiceRequest

    models = {
        "storageServices": CreateStorageServiceRequest,
        "containers": CreateContainerRequest,
        "lineage": AddLineageRequest,
    }
    put = [call for call in calls if call["method"] == "PUT"]
    for call in put:
        models[call["path"].rsplit("/", 1)[1]].model_validate_json(json.dumps(call["content"]))
    return len(put)


def main() -> None:
    """Check every catalogue's calls; an error at the first that does not fit."""
    calls = json.load(sys.stdin)
    checks = {"openlineage": openlineage, "datahub": datahub, "openmetadata": openmetadata}
    assert set(calls) == set(checks), "an emitter has no check here"
    packages = {"openlineage": "openlineage-python", "datahub": "acryl-datahub"}
    for name, check in checks.items():
        package = packages.get(name, "openmetadata-ingestion")
        print(f"{name}: {check(calls[name])} payloads fit {package} {version(package)}")


if __name__ == "__main__":
    main()
