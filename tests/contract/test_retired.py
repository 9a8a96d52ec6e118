"""What was a parameter once: at its default it reads as ever, at any other value it is refused by name.

``tests/support/former_parameters.json`` holds every method's parameters as a stored job had them before any
was retired, by preset where there are some.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidInput
from core.evaluation.metric import Suite
from core.methods import registry
from core.methods._shared.frame.model import load_stored
from core.methods.base import no_progress
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from core.privacy.units import Unit
from core.publishing.checks import checked_params
from core.publishing.spec import JobSpec, Plain
from core.workflows.jobs.submit import content_hash
from tests.support.generating import fit, graph_of, random_pairs

FORMER = json.loads((Path(__file__).parents[1] / "support" / "former_parameters.json").read_text("utf-8"))
STORED = [
    pytest.param(method, given, id="-".join(filter(None, [method, preset])))
    for method, presets in FORMER.items()
    for preset, given in presets.items()
]
RETIRED = [
    pytest.param(method, given, name, id="-".join(filter(None, [method, preset, name])))
    for method, presets in FORMER.items()
    for preset, given in presets.items()
    for name in registry.get(method).Params.retired(given)
]


def another(value: Any) -> Any:
    """A value of the same sort that it is not."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case None:
            return 0.5
    return f"not {value}"


@pytest.mark.parametrize(("method", "given"), STORED)
def test_a_stored_job_of_before_reads_as_it_was(method: str, given: dict[str, Any]) -> None:
    model = registry.get(method).Params
    written = model.model_validate(given).model_dump(mode="json")
    assert not set(model.retired(given)) & set(written)
    kept = {name: value for name, value in model.in_full(written).items() if name in given}
    assert json.dumps(kept, sort_keys=True) == json.dumps(given, sort_keys=True)


@pytest.mark.parametrize(("method", "given", "name"), RETIRED)
def test_each_is_taken_at_its_default_and_refused_by_name_at_another(
    method: str, given: dict[str, Any], name: str
) -> None:
    model = registry.get(method).Params
    assert name not in model.model_fields
    named = {"preset": given["preset"]} if "preset" in given else {}
    assert checked_params(model, named | {name: given[name]}) == model.model_validate(named)
    with pytest.raises(InvalidInput, match=f"Retired parameter {name}: .* leave it out") as refused:
        checked_params(model, given | {name: another(given[name])})
    assert refused.value.members["field"] == f"parameters.{name}"


def test_every_retired_parameter_has_a_stored_job() -> None:
    """So that none is retired without a record of what it stood at."""
    for method, generator in registry.generators().items():
        assert method in FORMER or not generator.Params.RETIRED, method
        for given in FORMER.get(method, {}).values():
            assert set(generator.Params.retired(given)) <= set(given), method


def test_a_retired_parameter_of_a_structure_is_refused_by_name_too() -> None:
    model = registry.get("composed").Params
    kept = {"structures": {"*": {"method": "dcsbm", "parameters": FORMER["dcsbm"]["small"]}}}
    assert model.model_validate(kept).structures["*"].parameters["preset"] == "small"
    kept["structures"]["*"]["parameters"] = {"core": 0.5}
    with pytest.raises(InvalidInput, match="Retired parameter core"):
        checked_params(model, kept)


def test_a_request_repeats_a_job_that_was_stored_before() -> None:
    """The content of both is hashed alike, of structures too."""
    model = registry.get("composed").Params
    structures = {"edge": {"method": "dcsbm", "parameters": {"preset": "small"}}}
    now = model.model_validate({"structures": structures}).model_dump(mode="json")
    (written,) = (each["parameters"] for each in now["structures"].values())
    structures["edge"]["parameters"] = FORMER["dcsbm"]["small"] | written
    before = now | {"structures": structures}
    assert before != now
    hashes = {content_hash(job_of("composed", params)) for params in (now, before)}
    assert len(hashes) == 1
    assert content_hash(job_of("dcsbm", FORMER["dcsbm"]["default"])) not in hashes


def job_of(method: str, params: dict[str, Any]) -> JobSpec:
    """A stored job of the method."""
    release = Plain(
        job_id="job",
        dataset_id="set",
        dataset_version="version",
        method=method,
        params=params,
        unit=Unit.EDGE,
        nano_epsilon=10**9,
        edge_types=("edge",),
    )
    return JobSpec(release=release, amounts={}, kind=GuaranteeKind.PURE, label=None, suite=Suite.QUICK)


def test_what_a_request_never_does_an_experiment_may() -> None:
    model = registry.get("dcsbm").Params
    params = model.varied(preset="small", core=0.5, proposals=7.0, tail_share=0.1)
    assert (params.core, params.way.proposals, params.way.band, params.tail_share) == (0.5, 7.0, 0.02, 0.1)
    assert model.varied(preset="small", tail_share=0.1) == model(preset="small", tail_share=0.1)
    assert (model().core, model(preset="small").way.proposals) == (0.2, 150.0)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    model, _ = fit(registry.get("dcsbm"), graph_of(random_pairs(60, 0.2), 60), 1)
    model.save(tmp_path)
    return tmp_path


def rewritten(folder: Path, **params: Any) -> None:
    """The stored model with these of its parameters."""
    text = json.loads((folder / "model.json").read_text("utf-8"))
    text["params"] |= params
    (folder / "model.json").write_text(json.dumps(text), encoding="utf-8")


def test_a_stored_model_of_before_draws_the_same_graph(stored: Path) -> None:
    generator = registry.get("dcsbm")
    before = generator.load(stored).sample(public_generator(3), no_progress)
    rewritten(stored, **FORMER["dcsbm"]["default"])
    assert generator.load(stored).sample(public_generator(3), no_progress).equals(before)


def test_a_stored_model_of_other_constants_is_refused_by_name(stored: Path) -> None:
    rewritten(stored, **FORMER["dcsbm"]["default"] | {"proposals": 15.0})
    with pytest.raises(ValueError, match=r"Retired parameter proposals: the method goes by 60\.0"):
        load_stored(stored, "dcsbm", registry.get("dcsbm").Params)
