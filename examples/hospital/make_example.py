"""Writes nodes.csv and edges.csv: generated patients and diagnoses. Nobody stands behind any of them.

    python -m examples.hospital.make_example

Diagnoses are codes of twelve chapters, of popularities by Zipf's law. A patient has one or two chapters to
which three diagnoses in four belong, a number of visits with a heavy tail, and comes in one to four quarters.
The same script writes the same files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from core.privacy.entropy import public_generator

PATIENTS, CHAPTERS, CODES, QUARTERS = 1_000, 12, 12, 4
SEED = 20_260_101
OWN = 0.75  # share of a patient's diagnoses that lie in the patient's own chapters


def rows(seed: int = SEED) -> np.ndarray:
    """Draw distinct (patient, diagnosis, quarter) rows, sorted, int64."""
    rng = public_generator(seed)
    diagnoses = CHAPTERS * CODES
    weight = 1 / (1 + rng.permutation(diagnoses)) ** 0.8
    visits = np.minimum(1 + rng.pareto(1.6, PATIENTS) * 3, 40).astype(np.int64)
    patient = np.repeat(np.arange(PATIENTS), visits)
    chapters = rng.integers(0, CHAPTERS, (PATIENTS, 2))
    own = chapters[patient, rng.integers(0, 2, len(patient))]
    anywhere = rng.choice(diagnoses, len(patient), p=weight / weight.sum())
    by_chapter = weight.reshape(CHAPTERS, CODES)
    bounds = np.cumsum(by_chapter / by_chapter.sum(axis=1, keepdims=True), axis=1)
    code = (rng.random((len(patient), 1)) > bounds[own]).sum(axis=1).clip(max=CODES - 1)
    diagnosis = np.where(rng.random(len(patient)) < OWN, own * CODES + code, anywhere)
    begins, lasts = rng.integers(0, QUARTERS, PATIENTS), rng.geometric(0.5, PATIENTS)
    quarter = (begins[patient] + rng.integers(0, lasts[patient])) % QUARTERS
    return np.unique(np.stack([patient, diagnosis, quarter], axis=1), axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    codes = [f"{chr(ord('A') + chapter)}{code:02}" for chapter in range(CHAPTERS) for code in range(CODES)]
    nodes = ["id,type,chapter", *(f"{number:04},patient," for number in range(PATIENTS))]
    nodes += [f"{code},diagnosis,{code[0]}" for code in codes]
    edges = ["source,target,time"]
    edges += [f"{person:04},{codes[code]},{quarter}" for person, code, quarter in rows().tolist()]
    (asked.out / "nodes.csv").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    (asked.out / "edges.csv").write_text("\n".join(edges) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
