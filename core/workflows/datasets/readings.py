"""How a proposal's files were read. It is shown to curators, and files are read again by what a person says
of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from core.datasets import objects, repository, service
from core.datasets.models import DatasetVersion, VersionState
from core.datasets.service import Event
from core.errors import InvalidInput, InvalidTransition
from core.graphs.reading import asking
from core.graphs.reading.mapping import Mapping as Said
from core.graphs.reading.model import Reading
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.datasets.upload import check_file
from graphveil.models import readings as models
from graphveil.models.datasets import Received

log = get_logger(__name__)

CONFIRMED = "confirmed"
"""Where a version's report says who confirmed its schema, and what was ticked."""
NO_LONGER_SAID = {"extra_columns"}
"""What a proposal adds to the options of its files, beside what was read."""


def read_again(services: Services, principal: Principal, dataset_id: str, part: str, said: Said) -> Received:
    """Read the kept file of a proposal again. It is read as ``said``, and another schema is proposed from it.

    What is not said stays as it was read; where another delimiter, header or encoding is said without
    columns, these are found anew. Raises Forbidden, NotFound, InvalidInput, InvalidTransition without a
    proposal.
    """
    require(principal, Role.CURATOR)
    options = said.options()
    with services.db.transaction() as session:
        dataset = service.lock(session, principal.tenant, dataset_id)
        waiting = repository.in_state(session, dataset.id, VersionState.PROPOSED)
        if not waiting:
            raise InvalidTransition(
                "no proposal waits: send the file again, with what its columns are", state=str(dataset.state)
            )
        version = waiting[-1]
        row = repository.part(session, version.id, part)
        if row is None or objects.derived(row.object_key):
            raise InvalidInput(f"this upload has no file {part}; name edges or nodes", field="part")
        forgotten = NO_LONGER_SAID if "columns" in options else NO_LONGER_SAID | {"columns", "bipartite"}
        kept = {name: value for name, value in row.options.items() if name not in forgotten}
        check_file(part, row.format, kept | options)
        row.options = kept | options
        service.apply(Event.READ_AGAIN, dataset, version)
        service.grant_attempts(version, services.settings.max_attempts)
        version.findings, dataset.proposed_schema = None, None
        repository.delete_parts(session, [version.id], only=objects.derived)
        outbox.ring(session, Topic.INGEST, version.id)
        answer = Received(id=version.id, dataset_id=dataset.id, number=version.number, state=version.state)
    log.info("upload_read_again", dataset_id=dataset_id, version_id=answer.id, part=part)
    return answer


def require_answers(version: DatasetVersion) -> None:
    """Refuse to confirm a proposal with open questions. Its reading asks what would make another graph;
    InvalidInput."""
    for part, reading in _readings(version.ingest_report).items():
        for question in reading.questions:
            if question.destroys:
                raise InvalidInput(
                    f"of {part}: {asking.question_text(question)}",
                    field="reading",
                    how_to_mend="Have the file read again with the mapping that says what is so.",
                )


def keep_confirmation(
    version: DatasetVersion,
    principal: Principal,
    known: Collection[str] | None,
    noted: Collection[str] | None,
) -> None:
    """Keep with the version who confirmed its schema, and what was ticked. InvalidInput: a warning was
    not."""
    warned = warnings_of(version.ingest_report, _readings(version.ingest_report).values())
    if noted is not None and (missed := [text for text in warned if text not in noted]):
        raise InvalidInput(
            f"not ticked: {missed[0]}",
            field="noted",
            how_to_mend="Tick each warning that is as it should be; else have the file read again.",
        )
    ticked = [text for text in warned if text in (noted or ())]
    made = {"person": principal.person, "read_off": sorted(known or ()), "warnings": ticked}
    version.ingest_report = {**(version.ingest_report or {}), CONFIRMED: made}


def warnings_of(report: Mapping[str, Any] | None, readings: Iterable[Reading | models.Reading]) -> list[str]:
    """List what a proposal warns of, and what the readings of its files do, each once."""
    read = (text for each in readings for text in each.warnings)
    return [*dict.fromkeys((*(report or {}).get("warnings", ()), *read))]


def shown(report: Mapping[str, Any] | None) -> tuple[models.Reading, ...]:
    """Show how each file was read, as curators see it."""
    return tuple(_shown(each) for each in _readings(report).values())


def _readings(report: Mapping[str, Any] | None) -> dict[str, Reading]:
    return {part: Reading.from_json(made) for part, made in ((report or {}).get("readings") or {}).items()}


def _shown(reading: Reading) -> models.Reading:
    made = reading.as_json()
    return models.Reading(
        part=reading.part,
        dialect=models.Dialect(**made["dialect"]),
        columns=[models.ReadColumn(**each) for each in made["columns"]],
        bipartite=reading.bipartite,
        counts=models.ReadCounts(**made["counts"]),
        warnings=list(reading.warnings),
        questions=[
            models.Question(
                about=str(each.about),
                text=each.text,
                probability=each.probability,
                must_be_answered=each.destroys,
                answers=[
                    models.PossibleAnswer(text=answer.text, mapping=_written(answer.mapping))
                    for answer in each.answers
                ],
            )
            for each in reading.questions
        ],
        mapping=_written(reading.mapping),
    )


def _written(said: Said) -> dict[str, str]:
    spoken = {"\t": "tab", " ": "space"}
    return {name: spoken.get(str(value), str(value)) for name, value in said.options().items()}
