"""Options and fixtures that every test may use, and what a run says at its end."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import hypothesis
import pytest

import machine
import needs
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver import decompilation

# how long an example takes depends on what else the machine does
hypothesis.settings.register_profile(
    "any load", hypothesis.settings.default, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any load")


LONGEST = (
    "models/test_catalogue", "torch/answers/test_tutorials", "torch/stepping/test_dap", "torch/capture/test_many_breaks", "torch/answers/test_run_diff",
    "unit/safety/test_growth", "test_cases", "unit/decompiler/bytecode/files/test_bombs", "property/test_random_cfg", "torch/compared/test_compare",
    "torch/stepping/test_nonfinite", "torch/scripts/test_repro", "torch/answers/test_doctor", "property/test_linear_time", "torch/stepping/test_triton_kernels",
    "torch/capture/test_frame_shapes", "torch/scripts/test_gallery", "torch/guest/test_guarded", "torch/stepping/test_levels", "unit/cli/test_cli",
    "torch/scripts/test_export", "torch/capture/test_results", "torch/capture/test_many", "torch/compared/test_edited", "torch/capture/test_situations",
    "torch/capture/test_determinism", "property/test_attack", "browser/test_answers_page", "test_package", "browser/test_accessible",
)  # fmt: skip
"""The files that take longest (``--slowest-files`` tells them) start first: else one process works on the last of them alone."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process for each core, and one more: the tests often wait for programs that they start.  At most four."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ``--no-loadscope-reorder`` files are given out in this order."""
    order = {Path(__file__).parent / f"{name}.py": rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the golden cases with what the decompiler writes now"
    )
    parser.addoption("--machine", action="store_true", help="only the files of tests that ask what is on the machine")
    parser.addoption("--slowest-files", type=int, default=0, metavar="N", help="list the N files that took longest")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--machine") and collection_path.match("test_*.py") and not machine.asks(collection_path):
        return True
    return None


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("--machine"):
        return None
    files = sorted(path.relative_to(machine.TESTS) for path in machine.TESTS.rglob("test_*.py") if machine.asks(path))
    return f"{len(files)} files of tests ask what is on the machine: {' '.join(map(str, files))}"


class Ending:
    """What this process has seen, and what the workers of pytest-xdist say they have seen."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tested: set[str] = set()
        self.lacked: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0]
        self.seconds[file] += report.duration
        self.tests[file] += report.when == "call"
        if report.skipped and (program := needs.lacking_program(str(report.longrepr))):
            self.lacked[program] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self.tested.update(getattr(node, "workeroutput", {}).get("interpreters", ()))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        """Around pytest's own summary: what is said after the ``yield`` comes last."""
        yield
        if number := self.config.getoption("--slowest-files"):
            terminalreporter.section(f"slowest {number} files of {len(self.seconds)}")
            for file, seconds in self.seconds.most_common(number):
                terminalreporter.line(f"{seconds:8.1f} s  {self.tests[file]:5} tests  {file}")
        if line := needs.summary_of_programs(self.lacked):
            terminalreporter.line(line)
        if self.seconds:
            terminalreporter.line(needs.summary(self.tested | needs.used))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Ending(config), "depyf-ending")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells what its tests ran on."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["interpreters"] = sorted(needs.used)


@pytest.fixture(autouse=True)
def _internal_errors_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in one way to write a function is a failure, even where another way works; so is a broken invariant after a pass."""

    def show(unit: CodeUnit, error: Exception) -> NoReturn:
        raise RuntimeError(f"internal error in {unit.qualname}") from error

    monkeypatch.setattr(decompilation, "on_internal_error", show)
    monkeypatch.setattr(decompilation, "check_invariants", True)
