"""How to mend a field. The refusal says it, or what the field would accept."""

from __future__ import annotations

_STEP = "Name a step within these bounds."
_SHAPE = "Name another method, or a dataset of another shape."

# Where a message says only what is wrong. By the last part of the field's path that stands here.
MENDS = {
    "after": _STEP,
    "as_of": "Name a moment with its zone, after the account was opened and not in the future.",
    "assume": "Assume sizes that the declared schema allows, of relations that are asked for.",
    "checkpoint": "Begin the training again, in an empty folder.",
    "comparison": "Leave the comparison out, or name a public dataset.",
    "cursor": "Begin again without a cursor.",
    "dataset_id": "Name another dataset.",
    "days": "Name another number of days.",
    "delta": "Name another delta: more than 0 and less than 1, or 0 for pure epsilon.",
    "edge_types": "Name relations of the dataset that are not public, each once; or none, for all of them.",
    "epsilon": "Name another epsilon, within what the message allows; where it is too small, a larger one.",
    "etags": "Send the ETag of every part, in order.",
    "filter": "Name the filter basic.",
    "first": _STEP,
    "first_step": _STEP,
    "formats": "Name other formats, each once.",
    "full": "Leave full out.",
    "graph_schema": "Declare the schema otherwise.",
    "job_id": "Name the job of a release that is no snapshot of a stream.",
    "last_step": _STEP,
    "lifetime": "Name a lifetime of a day or more.",
    "limit": "Ask for a page of such a size.",
    "links": "Send a list of links that the dataset has, in its own node names.",
    "meta_paths": "Name other meta-paths over the job's relations, each once.",
    "method": "Name another method, or none for auto; GET /methods lists them.",
    "name": "Choose another name.",
    "node_types": _SHAPE,
    "options": "Send the options as plain JSON values.",
    "parameters": "Set other parameters; GET /methods says which a method has.",
    "reason": "Give a reason in a few words.",
    "release": "Leave release out.",
    "roles": "Name at least one role.",
    "runs": "Ask for fewer runs.",
    "schema": _SHAPE,
    "scope": "Name a team or a project.",
    "seed": "Leave the seed out.",
    "size": "Leave the size out.",
    "spectral": "Leave spectral out.",
    "structures": "Name another method for the relation, or auto.",
    "target": "Name another target, or an epsilon instead.",
    "unit": "Name another method, or a dataset of another unit.",
    "version": "Name a version that there is, or none for the present one.",
    "window": "Name another number of steps.",
}
LAST_WORD = "Change the value as the message says."


def mend_of(field: str, message: str) -> str:
    """Say how to mend the field. It is what the message says after its semicolon, else what the field would
    accept."""
    _, semicolon, said = message.rpartition("; ")
    if semicolon:
        return f"{said[:1].upper()}{said[1:].rstrip('.')}."
    return next((MENDS[part] for part in reversed(field.split(".")) if part in MENDS), LAST_WORD)
