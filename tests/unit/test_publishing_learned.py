"""What a learned method tells besides its graph: the claim of its paper, and how its model was trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from core.graphs.stored.whole import write_graph
from core.methods.base import Claimed, PublicFacts, Training
from core.privacy.accounting.events import Unprotected
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, GuaranteeKind, PrivacyPlan
from core.publishing import bundle, release, sample
from core.reports.model import PublicPart
from tests.support.publishing import GROUPS, USERS, Fixed, Params, graph, public_of, publish, spec

REASON = "The paper's variant reads the raw graph."


class AsPublished(Fixed):
    """Reads the raw graph, claims an epsilon for it, and tells of its training."""

    kinds = frozenset({GuaranteeKind.NONE})

    def plan(self, params: Params, public: PublicFacts) -> PrivacyPlan:
        access = Allotment(WHOLE_GRAPH, None, Unprotected(REASON), "unprotected access")
        return PrivacyPlan(self.name, public.unit, public.window, public.schema.steps, (access,))

    def fit(self, private: Any, plan: PrivacyPlan, params: Params, progress: Any) -> AsPublished:
        private.unprotected(REASON)
        return self

    def claim(self, params: Params, public: PublicFacts) -> Claimed:
        return Claimed(str(public.nano_epsilon // 10**9), "0", "The paper, Theorem 1", "True epsilon: 12.8.")

    def training(self) -> Training:
        return Training({"loss": (2.0, 1.0)}, ("Two epochs.",), True)


def test_a_release_without_guarantee_prints_the_claim_beside_it_and_never_as_it(tmp_path: Path):
    publish(AsPublished(graph(2)), graph(1), tmp_path)
    part = PublicPart.model_validate(public_of(tmp_path))
    assert (part.guarantee.kind, part.guarantee.epsilon) == ("none", None)
    assert part.guarantee.reasons == (REASON,)
    assert part.guarantee.claimed is not None
    assert part.guarantee.claimed.model_dump() == {
        "epsilon": "1",
        "delta": "0",
        "source": "The paper, Theorem 1",
        "remark": "True epsilon: 12.8.",
    }
    assert part.training is not None
    assert (part.training.collapsed, part.training.notes) == (True, ("Two epochs.",))
    assert part.training.curves[0].values == (2.0, 1.0)


class WithVectors(Fixed):
    """Has two numbers for each user and one for each group beside its graph."""

    def fit(self, private: Any, plan: PrivacyPlan, params: Params, progress: Any) -> WithVectors:
        super().fit(private, plan, params, progress)
        return self

    def vectors(self) -> dict[str, dict[str, np.ndarray]]:
        users = np.arange(2 * USERS, dtype=np.float32).reshape(-1, 2)
        return {"embedding": {"user": users, "group": np.arange(GROUPS, dtype=np.float32).reshape(-1, 1)}}


def test_vectors_stand_beside_the_ids_of_their_nodes(tmp_path: Path):
    publish(WithVectors(graph(2)), graph(1), tmp_path)
    job = tmp_path / "job"
    table = pq.read_table(job / "release" / "embedding.parquet").to_pylist()
    order = bundle.read_alignment(job / "private" / "alignment.parquet")
    nodes = pq.read_table(job / "release" / "nodes.parquet", columns=["id", "type"]).to_pylist()
    assert [(row["id"], row["type"]) for row in table if row["type"] == "user"] == [
        (row["id"], row["type"]) for row in nodes if row["type"] == "user"
    ]
    found = [row["vector"] for row in table if row["type"] == "user"]
    assert found == [[2.0 * old, 2.0 * old + 1] for old in order["user"]]
    assert [row["vector"] for row in table if row["type"] == "group"] == [[old] for old in order["group"]]
    roles = {each["name"]: each["role"] for each in json.loads((job / "manifest.json").read_bytes())}
    assert roles["release/embedding.parquet"] == "artifact"
    assert "embedding.parquet" in {each["name"] for each in public_of(tmp_path)["provenance"]["artifacts"]}


def test_a_method_that_learns_nothing_and_claims_nothing_tells_nothing(tmp_path: Path):
    publish(Fixed(graph(2)), graph(1), tmp_path)
    part = PublicPart.model_validate(public_of(tmp_path))
    assert (part.guarantee.claimed, part.training) == (None, None)


def test_a_further_sample_tells_the_same_of_its_model(tmp_path: Path):
    original, generator = graph(1), AsPublished(graph(2))
    write_graph(original, tmp_path / "original")
    recorder = MemoryRecorder()
    asked = spec(generator, original.schema)
    source = tmp_path / "source"
    release.publish(generator, tmp_path / "original", asked, source, recorder, lambda *_: None)
    (source / "schema.json").write_text(original.schema.model_dump_json())
    (source / "transcript.json").write_text(json.dumps([entry.to_json() for entry in recorder.entries]))
    again = spec(generator, original.schema, job_id="job-2", sample_of="job-1", params={"extra_reads": 0})
    sample.draw(generator, source, again, tmp_path / "again", lambda *_: None)
    ours, theirs = (
        PublicPart.model_validate_json((folder / "release" / "public.json").read_bytes())
        for folder in (tmp_path / "again", source)
    )
    assert ours.guarantee == theirs.guarantee
    assert ours.training == theirs.training
