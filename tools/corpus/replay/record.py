"""What one source tree writes for one shard; runs in a process of its own, with that tree on its path.

    python record.py TREE KIND MODE FOLDER OUT QUICK < keys

One line of JSON is added to OUT for each key: ``key``, ``text`` (a hash), ``verdicts`` (how many of each), and of files of dumps,
which take minutes to make again, ``body`` (the text, packed).  Keys that OUT has already are left out, so that a run that was
stopped goes on.  With ``-`` for OUT the texts themselves are printed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

Found = tuple[str, str, Counter[str]]
"""Key, text, verdicts."""
CUT = ("argparse", "inspect", "tarfile", "typing", "zipfile", "textwrap", "json.decoder")
BACKENDS = ("aot_eager", "inductor")
DUMP = """
import sys
import torch
import depyf
from torch_programs import PROGRAMS
from torch_models import run_model
backend, directory, quick = sys.argv[1:]
with depyf.prepare_debug(directory, log_bytecode=True):
    for name in sorted(PROGRAMS)[:: 1 if quick == "0" else 4]:
        torch.manual_seed(0)
        PROGRAMS[name](lambda fn: torch.compile(fn, backend=backend))
    for name in ("gpt2", "bert") if quick == "0" else ():
        run_model(name, lambda model: torch.compile(model, backend=backend), train=True)
"""


def _first_of(*names: str) -> Any:
    """The first of these modules that the tree has: a commit to compare with may have it in another place."""
    for name in names[:-1]:
        with suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    return importlib.import_module(names[-1])


def of_pycs(folder: Path, mode: str, keys: list[str]) -> Iterator[Found]:
    """Decompiled ``.pyc`` files, in one of the modes."""
    from depyf.errors import DepyfError

    Options = _first_of("depyf.decompiler.options", "depyf.options").Options
    read_pyc = _first_of("depyf.decompiler.bytecode.files.pyc", "depyf.bytecode.files.pyc").read_pyc
    decompile_unit = _first_of("depyf.decompiler.driver.pipeline", "depyf.driver.pipeline").decompile_unit

    def unlined(unit: Any) -> Any:
        consts = tuple(unlined(const) if type(const) is type(unit) else const for const in unit.consts)
        return replace(unit, linetable=b"", consts=consts, live=None)

    for key in keys:
        try:
            unit = read_pyc(folder / key)
            if mode == "unlined":
                unit = unlined(unit)
            found = decompile_unit(unit, Options(idioms=mode != "ugly"))
        except DepyfError as error:
            yield key, f"{type(error).__name__}: {error}", Counter({"refused": 1})
        else:
            yield key, found.source, Counter(verdict.status.value for verdict in found.verdicts)


def of_cut(count: int) -> Iterator[Found]:
    """Second halves of functions, cut as torch cuts them."""
    import random

    cutfuzz = _first_of("cutfuzz", "tools.fuzz.cutfuzz")

    bytecode = "depyf.decompiler.bytecode", "depyf.bytecode"
    ops = _first_of(*(f"{package}.ops" for package in bytecode))
    CodeUnit = _first_of(*(f"{package}.codeunit" for package in bytecode)).CodeUnit
    lower = _first_of(*(f"{package}.lower" for package in bytecode)).lower

    chance = random.Random(0)
    made = 0
    for name in CUT:
        path = importlib.import_module(name).__file__
        assert path is not None
        for code in cutfuzz.functions(compile(Path(path).read_text(encoding="utf-8"), path, "exec")):
            lowered = lower(CodeUnit.from_code(code))
            calls = [at for at, i in enumerate(lowered.instrs) if i.op == ops.CALL and i.handler < 0]
            for call in chance.sample(calls, min(2, len(calls))):
                if made == count:
                    return
                try:
                    half = cutfuzz.second_half(code, lowered, call)
                except (AssertionError, StopIteration):
                    continue
                end, text = cutfuzz.outcome(half)
                made += 1
                yield f"{name}:{code.co_qualname} at instruction {call}", text, Counter({end: 1})


def of_dumps(tree: Path, quick: bool) -> Iterator[Found]:
    """Each file of the dumps of the test programs and models."""
    here = Path(__file__).resolve().parents[3]
    for backend in BACKENDS[: 1 if quick else 2]:
        with tempfile.TemporaryDirectory() as folder:
            paths = (tree / "src", here / "tests" / "torch", here / "tests" / "support")
            env = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, paths)),
                "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
                "PYTHONHASHSEED": "0",
            }
            command = [sys.executable, "-c", DUMP, backend, f"{folder}/dump", str(int(quick))]
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=folder)
            if done.returncode:
                yield f"{backend}: the programs", done.stderr[-2000:], Counter({"failed": 1})
            for path in sorted(Path(folder, "dump").rglob("*")):
                if path.is_file() and path.name != "timings.json":
                    text = path.read_text(encoding="utf-8", errors="backslashreplace").replace(folder, "FOLDER")
                    yield f"{backend}: {path.name}", text, Counter({"written": 1})


def main() -> None:
    tree, kind, mode, folder, out, quick = sys.argv[1:]
    sys.path[:0] = [f"{tree}/src", tree, f"{tree}/tools"]
    keys = json.load(sys.stdin)
    wanted = set(keys) if out == "-" else set()
    if out != "-":
        done = _done(Path(out))
        keys = [key for key in keys if key not in done]
    if kind == "pyc":
        source = of_pycs(Path(folder), mode, keys)
    elif kind == "cut":
        source = of_cut(60 if quick == "1" else 600)
    else:
        source = of_dumps(Path(tree), quick == "1")
    with nullcontext(sys.stdout) if out == "-" else open(out, "a", encoding="utf-8") as file:
        for key, text, verdicts in source:
            if out == "-":
                if key in wanted:
                    print(json.dumps([key, text]), file=file, flush=True)
            else:
                digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
                row: dict[str, Any] = {"key": key, "text": digest, "verdicts": verdicts}
                if kind == "dump":
                    row["body"] = b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"))).decode()
                print(json.dumps(row), file=file, flush=True)


def _done(out: Path) -> set[str]:
    if not out.exists():
        return set()
    return {json.loads(line)["key"] for line in out.read_text(encoding="utf-8").splitlines() if line.endswith("}")}


if __name__ == "__main__":
    main()
