"""What a notebook shows of depyf in JupyterLab itself: of one that the user trusts, and of one that was downloaded.

JupyterLab takes styles, scripts and frames out of a notebook that is not trusted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from depyf.views.pages import notebook
from depyf.views.report.notebook_frame import NotebookFrame
from dumps_by_hand import write_dump

BESIDE = Path(sys.prefix) / "jupyter"
"""Where ``make env`` puts it."""
if not BESIDE.is_dir():
    pytest.skip("needs JupyterLab (make env)", allow_module_level=True)
SIGN = "import nbformat, nbformat.sign, sys; nbformat.sign.NotebookNotary().sign(nbformat.read(sys.argv[1], 4))"
TOKEN = "depyf"
SECONDS = 60


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of JupyterLab: nothing of it is kept outside of a folder for this test."""
    home = tmp_path_factory.mktemp("jupyter")
    share = BESIDE / "share" / "jupyter"
    return {
        **os.environ, "HOME": str(home), "PYTHONPATH": str(BESIDE), "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"), "JUPYTERLAB_DIR": str(share / "lab"),
        "JUPYTER_PATH": str(share), "JUPYTER_CONFIG_PATH": str(BESIDE / "etc" / "jupyter"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def lab(settings: dict[str, str]) -> Iterator[tuple[str, Path]]:
    """A server: its address, and the folder of its notebooks."""
    root = Path(settings["HOME"], "notebooks")
    root.mkdir()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    command += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"]
    with Path(settings["HOME"], "log").open("w+") as log:
        server = subprocess.Popen(command, env=settings, cwd=root, stdout=log, stderr=subprocess.STDOUT)
        try:
            end = time.monotonic() + SECONDS
            while not (found := list(Path(settings["JUPYTER_RUNTIME_DIR"]).glob("jpserver-*.json"))):
                assert server.poll() is None and time.monotonic() < end, Path(log.name).read_text()
                time.sleep(0.1)
            yield json.loads(found[0].read_text())["url"], root
        finally:
            server.kill()  # it has nothing to keep, and waits for its clients otherwise
            server.wait(SECONDS)


Shown = Callable[[str, bool], Any]


@pytest.fixture
def shown(chromium: Any, lab: tuple[str, Path], settings: dict[str, str], tmp_path: Path) -> Iterator[Shown]:
    """Open a notebook with one output, trusted or not; returns Playwright's page with it."""
    address, root = lab
    contexts = []

    def open_notebook(output: str, trusted: bool) -> Any:
        name = f"{tmp_path.name}_{trusted}.ipynb"
        data = {"text/html": output, "text/plain": "words"}
        result = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": data}
        cell = {
            "cell_type": "code",
            "id": "one",
            "execution_count": 1,
            "metadata": {},
            "source": name,
            "outputs": [result],
        }
        page = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (root / name).write_text(json.dumps(page), encoding="utf-8")
        if trusted:
            subprocess.run([sys.executable, "-c", SIGN, str(root / name)], env=settings, check=True, timeout=SECONDS)
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 900}))
        opened = contexts[-1].new_page()
        opened.goto(f"{address}lab/tree/{name}?token={TOKEN}&reset")
        opened.locator(".jp-OutputArea-output").first.wait_for(timeout=SECONDS * 1000)
        opened.locator(".jp-Dialog").wait_for(timeout=SECONDS * 1000)  # which kernel: none
        opened.keyboard.press("Escape")
        return opened

    yield open_notebook
    for context in contexts:
        context.close()


def words(page: Any) -> list[str]:
    """The lines of the output, without the breaks that styles of ours put between boxes of a line."""
    text = page.locator(".jp-OutputArea-output").first.inner_text()
    return [line for line in re.sub(r"\n(, |: )\n", r"\1", text).split("\n") if line]


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "downloaded"])
def test_the_words_of_a_report(shown: Shown, trusted: bool) -> None:
    made = notebook.report(
        "f", "a.py:3", notebook.line(notebook.chip("way out", "good"), "torch.cond"),
        notebook.folded(notebook.joined([notebook.chip("0/1"), "1 graph"]), notebook.source("a.py:6", "if x:"), opened=True),
        chips=[notebook.fact("2 graphs"), notebook.fact("1 break", "warn")],
    )  # fmt: skip
    page = shown(made, trusted)
    assert bool(page.locator(".jp-OutputArea-output style").count()) is trusted  # else the other case was tried
    assert words(page) == ["f a.py:3 2 graphs, 1 break", "way out: torch.cond", "0/1: 1 graph", "a.py:6: if x:"]


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "downloaded"])
def test_a_frame_says_where_the_report_is(shown: Shown, trusted: bool, tmp_path: Path) -> None:
    frame = NotebookFrame(write_dump(tmp_path / "dump", {"a.py": "first = 1\n"}))
    page = shown(frame._repr_html_(), trusted)
    assert words(page)[-1].endswith("Where it does not show: .save(path) writes it to a file.")
    assert page.locator(".jp-OutputArea-output iframe").count() == trusted
    if trusted:
        page.frame_locator(".jp-OutputArea-output iframe").locator("nav[aria-label=Panels] a", has_text="Files").click()
        page.frame_locator(".jp-OutputArea-output iframe").get_by_text("a.py").first.wait_for()
