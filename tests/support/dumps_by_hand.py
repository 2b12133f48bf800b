"""Dumps written by hand, and dumps in which every text of the program tries to become markup or script."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from depyf.run.run import Run
from depyf.run.store.lines import run_page

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'><style>*{display:none}</style>{{7*7}}&lt;"
"""Put into every text of a dump that a program could have written."""
FIXED = {
    "file",
    "kind",
    "stage",
    "compile_id",
    "compile_ids",
    "entry",
    "same_code_as",
    "from",
    "forks",
    "id",
    "level",
    "state",
}
"""Fields of a manifest with words of depyf's, ids, and names of its files: a reader refuses others there."""


def write_dump(folder: Path, texts: dict[str, str], **page: Any) -> Path:
    """A dump with these files, of no compilation, and the rest of its manifest by name."""
    folder.mkdir()
    files = [{"file": name, "kind": "full_code"} for name in texts]
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    manifest = {"format": 1, "torch": "2.13.0", "python": "3.11", "files": files, "functions": [], "causes": []} | page
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "run.jsonl").write_text(run_page(Run("2.13.0", "3.11", finished=True)), encoding="utf-8")
    return folder


def made_hostile(dump: Path, folder: Path) -> Path:
    """A copy of ``dump`` in ``folder`` with ``HOSTILE`` in every text of its JSON files and in every file of code; and a
    file whose name is markup."""
    shutil.copytree(dump, folder)
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".json":
            path.write_text(json.dumps(_hostile(json.loads(path.read_text("utf-8")), "")), encoding="utf-8")
        elif path.suffix == ".jsonl":
            lines = [json.dumps(_hostile(json.loads(line), "")) for line in path.read_text("utf-8").splitlines()]
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        elif path.suffix in (".py", ".cpp", ".txt", ".md"):
            path.write_text(_hostile_lines(path.read_text("utf-8")), encoding="utf-8")
    named = "x'\"><img src=x onerror=window.pwned=1>.py"
    (folder / named).write_text(f'"""{HOSTILE}"""\n', encoding="utf-8")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"].append({"file": named, "kind": "full_code", "function": HOSTILE})
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def _hostile(value: Any, key: str) -> Any:
    if _is_id(value):
        return value
    if isinstance(value, dict):
        return {name: _hostile(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_hostile(item, key) for item in value]
    if not isinstance(value, str) or not value or key in FIXED:
        return value
    return HOSTILE + value if key == "at" else value + HOSTILE


def _is_id(value: Any) -> bool:
    """The compile id of a record, or the number of a frame: a reader refuses others there."""
    if isinstance(value, dict):
        return set(value) == {"generation", "text"}
    return isinstance(value, list) and [type(item) for item in value] == [int, str]


def _hostile_lines(text: str) -> str:
    return "".join(line + f"  # {HOSTILE}\n" if number % 5 == 0 else line + "\n" for number, line in enumerate(text.splitlines()))  # fmt: skip
