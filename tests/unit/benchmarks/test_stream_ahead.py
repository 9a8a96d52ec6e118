"""The columns that count leads follow from the printed means."""

from benchmarks.stream_ahead import rewritten

PAGE = """Before.

| method | top-1 % overlap | degree KL | density RE | assort. RE | trans. RE | MB | psgraph ahead |
|---|---|---|---|---|---|---|---|
| keyframe | .5 | .1 | .003 | .2 | 1.10 | 3 | stale |
| psgraph | .4 | .3 | .003 | .1 | .9 | 2 | stale |

| another | table |
|---|---|
| 1 | 2 |
"""


def test_a_tie_is_nobodys_lead_and_overlap_is_better_high() -> None:
    lines = rewritten(PAGE).splitlines()
    assert lines[4] == "| keyframe | .5 | .1 | .003 | .2 | 1.10 | 3 | 2 of 5 |"
    assert lines[5] == "| psgraph | .4 | .3 | .003 | .1 | .9 | 2 |  |"


def test_everything_else_stays() -> None:
    page, again = PAGE.splitlines(), rewritten(PAGE).splitlines()
    assert [line for line in again if line not in page] == again[4:6]
    assert rewritten("\n".join(again) + "\n") == "\n".join(again) + "\n"
