"""The commands of the documentation end as it says, and print what it shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

import with_torch
from tools.docs.docs_outputs import ROOT, comparable, outputs_file, pages, run_page, settings

pytestmark = pytest.mark.torch

SHOWN = sys.version_info[:2] == (3, 11) and torch.__version__.startswith("2.13")
"""Whether this is what the pages show: other versions print other words."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_print_what_the_page_shows(page: Path) -> None:
    alone = page.stem in ("see_what_happened", "walkthrough")  # how the commands start is seen here
    blocks = run_page(page, sys.executable if alone else with_torch.command(settings()))
    if SHOWN:
        shown = json.loads(outputs_file(page).read_text(encoding="utf-8"))
        assert comparable(blocks) == comparable(shown), f"make tutorials PAGES={page.relative_to(ROOT)}"
