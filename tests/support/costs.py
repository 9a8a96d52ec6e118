"""What each test costs: ``pytest --costs FILE`` writes CPU seconds, with those of children that ended."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

COST, LONGEST = "cpu_seconds", 30


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--costs", type=Path, help="write the cost of tests, and print the costliest files")


def _spent() -> float:
    """CPU seconds of this process and of children that it has waited for."""
    return sum(os.times()[:4])


class Costs:
    """Adds what each phase of a test spent, wherever the test ran."""

    def __init__(self, path: Path) -> None:
        """Begin to count."""
        self.path, self._before = path, _spent()
        self._tests: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def pytest_collection_finish(self) -> None:
        """Leave out what collecting spent."""
        self._before = _spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """Note the CPU seconds since the last phase; they travel with the report."""
        report: pytest.TestReport = yield
        spent = _spent()
        report.user_properties.append((COST, spent - self._before))
        self._before = spent
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase to its test."""
        spent = self._tests[report.nodeid]
        spent[0] += sum(value for name, value in report.user_properties[-1:] if name == COST)
        spent[1] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write every test, print the files that cost most."""
        self.path.write_text(json.dumps(self._tests, indent=0))
        files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        for test, (cpu, wall) in self._tests.items():
            total = files[test.partition("::")[0]]
            total[:] = total[0] + cpu, total[1] + wall, total[2] + 1
        files = {"all": [sum(each) for each in zip(*files.values(), strict=True)], **files}
        terminalreporter.section("CPU s, wall s, tests")
        for file, (cpu, wall, tests) in sorted(files.items(), key=lambda row: -row[1][0])[:LONGEST]:
            terminalreporter.write_line(f"{cpu:8.2f} {wall:8.2f} {int(tests):6d} {file}")


def pytest_configure(config: pytest.Config) -> None:
    """Count only where the option asks."""
    if path := config.getoption("--costs"):
        config.pluginmanager.register(Costs(path))
