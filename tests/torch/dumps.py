"""What every dump must satisfy, whatever was compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema

import with_torch
from depyf.run.files.manifest_schema import json_schema

ROOT = Path(__file__).resolve().parents[2]
PROVEN = ("IDENTICAL", "EQUIVALENT")
SCHEMA = jsonschema.Draft202012Validator(json_schema(closed=True))
"""A field that the schema does not know is one that the documentation does not show."""


def followed() -> bool:
    """Whether this torch asks us before it looks for compiled code, so that a dispatcher's page is followed in the
    program's own calls; before 2.9 it has no place for that, and ``depyf.debug()`` says so."""
    import torch

    return hasattr(torch._C._dynamo.eval_frame, "_debug_get_precompile_entries")


NOT_FOLLOWED = (
    "torch before 2.9 has no place to follow a dispatcher's page in the program's own calls: depyf.debug() says so"
)


def precompiled(code: Any) -> list[Any]:
    """What ``depyf.debug()`` adds to a code object while a page is followed."""
    import torch

    return list(torch._C._dynamo.eval_frame._debug_get_precompile_entries(code)) if followed() else []


def refused_at_a_stop() -> bool:
    """Whether a call of what is compiled with ``fullgraph=True`` fails at a debugger's prompt, with depyf or without: torch
    2.15 on Python 3.15 compiles nothing there, and complains that nothing was compiled."""
    import torch

    call = torch.compile(lambda x: x + 1, backend="eager", fullgraph=True)
    failed: list[BaseException] = []

    def trace(frame: Any, event: str, argument: Any) -> None:
        sys.settrace(before)
        try:
            call(torch.ones(1))
        except RuntimeError as error:
            failed.append(error)

    before = sys.gettrace()
    sys.settrace(trace)
    (lambda: None)()
    sys.settrace(before)
    return bool(failed)


def check_dump(directory: Path) -> dict[str, Any]:
    """Every file is legal Python (or the manifest) and listed; no address or uuid is in any text.  The manifest."""
    manifest: dict[str, Any] = json.loads((directory / "manifest.json").read_text())
    names = {path.name for path in directory.iterdir()}
    for error in SCHEMA.iter_errors(manifest):
        raise AssertionError(f"{error.json_path}: {error.message}: say so in manifest_schema.py")
    listed = {item["file"] for item in manifest["files"]}
    assert names == listed | {"manifest.json"} | set(manifest.get("forks", ()))
    for path in sorted(directory.glob("*.py")):
        text = path.read_text()
        compile(text, str(path), "exec", dont_inherit=True)
        if ".kernel_" not in path.name and not path.name.startswith("__source_of_"):  # the program's own text
            assert "0x7f" not in text, path.name
    for item in manifest["files"]:
        for origin in item["from"]:
            assert origin in listed or ":" in origin, (item["file"], origin)
    return manifest


def check_substituted(manifest: dict[str, Any]) -> None:
    """Every compiled frame runs proven code."""
    for item in manifest["files"]:
        if item["kind"] == "transformed_code":
            assert item["substituted"], (item["file"], item["reason"])
            assert item["verdicts"] and all(v["status"] in PROVEN for v in item["verdicts"])


def lacks(manifest: dict[str, Any], what: str) -> bool:
    """Whether the manifest says that this torch does not report ``what``."""
    return any(what in line for line in manifest["not_reported"])


def reasons_kept() -> bool:
    """Whether this torch keeps why an entry was compiled again, for ``depyf.explain`` to say without a dump; 2.6 does not."""
    from torch._dynamo.utils import CompilationMetrics

    return "recompile_reason" in CompilationMetrics.__dataclass_fields__


def qualified(function: Any) -> str:
    """The name that code objects know: the whole one since Python 3.11."""
    return str(getattr(function.__code__, "co_qualname", function.__code__.co_name))


def fresh_cache() -> Any:
    """An empty Inductor cache as a context manager, under the name this torch has for it."""
    import torch._inductor.utils as utils

    name = "fresh_cache" if hasattr(utils, "fresh_cache") else "fresh_inductor_cache"
    return getattr(utils, name)()


def as_in_a_process_of_its_own() -> Any:
    """A context manager that puts the settings back which a gallery script changes: it is a program."""
    import torch._inductor.config as settings

    return settings.patch(fallback_random=False, force_disable_caches=False)


def traces_autocast_calls() -> bool:
    """Whether Dynamo compiles what a captured graph has in place of ``with torch.autocast(...)``; 2.10 does not."""
    import torch
    from torch.amp import autocast_mode

    def f(x: Any) -> Any:
        mode = autocast_mode._enter_autocast("cpu", torch.bfloat16, True, None)
        y = x @ x
        autocast_mode._exit_autocast(mode)
        return y

    try:
        torch.compile(f, backend="eager")(torch.ones(2, 2))
    except AssertionError:
        return False
    finally:
        torch._dynamo.reset()
    return True


def files_of(manifest: dict[str, Any], **wanted: Any) -> list[str]:
    """The names of the files whose manifest entry has these values."""
    return [item["file"] for item in manifest["files"] if all(item.get(key) == value for key, value in wanted.items())]


def run_python(script: str, *args: str, stdin: str = "", env: dict[str, str] | None = None, timeout: int = 300,
               options: tuple[str, ...] = (), alone: bool = False, imports: Sequence[str] = with_torch.COMPILES) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run ``script`` (a file, or text) in another process, which can import depyf and the torch test programs.

    ``alone``: one that starts with nothing imported; otherwise it has ``imports`` already (``with_torch.py``).
    """
    environment = dict(os.environ) | (env or {})
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "src"), str(ROOT / "tests" / "torch"), *filter(None, [environment.get("PYTHONPATH")])]
    )
    environment["PYTHONWARNINGS"] = "ignore"
    command = [
        sys.executable,
        *options,
        *([script] if script.endswith(".py") else ["-c", textwrap.dedent(script)]),
        *args,
    ]
    if not alone:
        return with_torch.run(command, input=stdin, env=environment, timeout=timeout, imports=imports)
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=environment, timeout=timeout, check=False
    )
