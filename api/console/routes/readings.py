"""How an upload's files were read. Its questions are answered, and its columns corrected, without JSON."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from api.console import pages
from api.console.forms import FormDep
from api.console.routes.register import confirming
from api.console.said import said_in
from api.console.session import Signed, see
from api.deps import CuratorDep, ServicesDep
from core.errors import GraphveilError, InvalidInput
from core.workflows.datasets import queries as datasets
from core.workflows.datasets.readings import read_again

router = APIRouter(prefix="/console/datasets", route_class=Signed, include_in_schema=False)


@router.post("/{dataset_id}/reading")
def correct(
    request: Request, services: ServicesDep, principal: CuratorDep, dataset_id: str, form: FormDep
) -> Response:
    """The kept file is read as the form says, and another schema is proposed from it."""
    part = form.get("part", "edges")
    try:
        dataset = datasets.get_dataset(services, principal, dataset_id)
        readings = dataset.version.readings if dataset.version else ()
        reading = next((each for each in readings if each.part == part), None)
        if reading is None:
            raise InvalidInput("nothing was read of this file; send it again", field="part")
        read_again(services, principal, dataset_id, part, said_in(form, reading))
    except GraphveilError as error:
        return confirming(request, services, principal, dataset_id, problem=pages.problem_of(request, error))
    return see(f"/console/datasets/{dataset_id}/upload?done=reading")
