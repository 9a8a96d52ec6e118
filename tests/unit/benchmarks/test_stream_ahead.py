"""The columns that count leads follow from the printed means."""

from benchmarks.stream_ahead import counted

TABLE = {
    "columns": [
        "method",
        "top-1 % overlap",
        "degree KL",
        "density RE",
        "assort. RE",
        "trans. RE",
        "psgraph ahead",
    ],
    "rows": [
        ["keyframe", ".5", ".1", ".003", ".2", "1.10", "stale"],
        ["psgraph", ".4", ".3", ".003", ".1", ".9", "stale"],
    ],
}


def test_a_tie_is_nobodys_lead_and_overlap_is_better_high() -> None:
    assert [row[-1] for row in counted(TABLE, ["top-1 % overlap"])] == ["2 of 5", ""]


def test_everything_else_stays() -> None:
    assert [row[:-1] for row in counted(TABLE, [])] == [row[:-1] for row in TABLE["rows"]]
