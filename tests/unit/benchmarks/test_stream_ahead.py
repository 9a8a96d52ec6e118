"""The columns that count leads follow from the printed means."""

from benchmarks.stream_ahead import METRICS, SIX, counted, firsts

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


def test_first_of_the_six_is_best_or_level_and_a_table_without_all_six_counts_not() -> None:
    columns = ["method", *METRICS]
    rows = [[name, "2", "1", "1", "3", "3"] for name in SIX[1:]]
    whole = {"columns": columns, "rows": [[SIX[0], "3", "2", "1", "2", "9"], *rows]}
    found = firsts([whole, {"columns": columns, "rows": rows}], ["top-1 % overlap"])
    assert [found[name] for name in METRICS] == [(1, 1), (0, 1), (1, 1), (1, 1), (0, 1)]
