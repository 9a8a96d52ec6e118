"""Words are counted where they stand, and nothing is refused."""

from __future__ import annotations

from pathlib import Path

from tests.words import first_sentence, read, report

TEXT = '''"""Draws edges. Told again: told."""

# Why it is so.
found = 1  # not a line of its own


def shown(each, _told):
    """Say what is
    whose; the rest of it is counted too.

    Beside that."""


def _hidden():
    """Told, but not to the public, in very many words that nobody is meant to read here."""


class Kept:
    """Keep."""

    def held(self):
        """Hold a thing for a while."""
        return [each for each in ()]
'''


def test_counts_of_a_file(tmp_path: Path):
    (tmp_path / "some.py").write_text(TEXT)
    reading = read([tmp_path / "some.py"], tmp_path)
    assert sorted(count for count, _, _ in reading.sentences) == [1, 2, 6, 11]
    assert reading.words == {
        **{"told": 2, "whose": 1, "beside": 1},
        **{"drawn": 0, "asked": 0, "found": 0, "alone": 0},
    }
    assert reading.names == {"found": 1, "each": 2, "_told": 1, "_asked": 0}
    assert (reading.comments, reading.lines) == (1, 14)
    text = report({"some": reading}, 1)
    assert "  11  some.py:7  Say what is whose; the rest of it is counted too" in text
    assert "Hold a thing" not in text


def test_a_first_sentence_ends_at_its_stop():
    assert first_sentence("Count edges. One by one.") == "Count edges"
    assert first_sentence("Count\nedges\n\nSlowly.") == "Count edges"
    assert first_sentence("Version 1.2 counts.") == "Version 1.2 counts"
