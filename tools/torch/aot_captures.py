"""What torch's own tests compile ahead of time, opened: does each artefact give texts, and is nothing of it executed?

    python -m tools.torch.aot_captures FILE ... [--only WORD] [--out FOLDER]

FILE: test files of a checkout of torch of the version that runs this, such as ``test/dynamo/test_aot_compile.py``,
``test/dynamo/test_package.py`` and ``test/test_precompile.py``; any file of ``unittest`` cases does.  They run in a process
of their own, in which a copy is kept of each artefact: of each function that ``aot_compile`` returns and each module's
(saved for this, where torch can save it), of each pair of files of ``torch.compiler.precompile``, and of each entry of
``caching_precompile``.  Then each is opened in a process without torch that refuses to load a pickle or code, to import torch,
to start a program, and to execute code that is not ours.  ``--only``: tests with that in their name.  ``--out``: keep the
artefacts there.  torch's tests want the package ``expecttest``.  Output: a table, then what is missing in which.  Exit status
1 where one does not open, or something was executed.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

LIST = "captures.json"
_REFUSED = (
    "pickle.find_class",
    "marshal.loads",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "ctypes.dlopen",
)
"""Events of ``sys.addaudithook`` that opening a file must not raise; ``exec`` and ``import`` are looked at one by one."""


class Kept:
    """Copies of artefacts, each once, in a folder; ``unsaved`` counts those that torch cannot save, by its error."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.test = folder, "?"
        self.rows: list[dict[str, str]] = []
        self.unsaved: Counter[str] = Counter()
        self._seen: set[str] = set()

    def keep(self, kind: str, data: bytes | str, suffix: str = "") -> None:
        data = data.encode() if isinstance(data, str) else data
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._seen:
            self._seen.add(digest)
            file = f"{len(self.rows):04}{suffix}"
            (self.folder / file).write_bytes(data)
            self.rows.append({"file": file, "kind": kind, "test": self.test})

    def save(self, serialize: Callable[[Any], Any], made: Any) -> None:
        """Save a function, which keeps it.  An error of torch's is counted: such a capture has no artefact."""
        try:
            serialize(made)
        except Exception as error:
            self.unsaved[f"functions: {type(error).__name__}"] += 1

    def hook(self) -> None:
        """Keep what torch makes from now on, in this process."""
        import torch._dynamo.aot_compile as ahead

        whole = ahead.aot_compile_fullgraph

        @functools.wraps(whole)
        def fullgraph(*args: Any, **kwargs: Any) -> Any:
            made = whole(*args, **kwargs)
            self.save(type(made).serialize, made)
            return made

        ahead.aot_compile_fullgraph = fullgraph
        self._hook_saving(ahead.AOTCompiledFunction, "a function, aot_compile")
        self._hook_saving(ahead.AOTCompiledModel, "a module, _save_aot_compiled_module")
        self._hook_store()
        try:
            import torch._precompile as precompile
        except ImportError:  # before torch 2.15
            return
        write = precompile._write_artifact

        @functools.wraps(write)
        def written(artifact: Any, cache: Any, python_code: str, cache_bytes: bytes) -> None:
            self.keep("precompile, the program", python_code, ".py")
            self.keep("precompile, its cache", cache_bytes, ".cache")
            write(artifact, cache, python_code, cache_bytes)

        precompile._write_artifact = written

    def _hook_store(self) -> None:
        from torch._dynamo.package import DiskDynamoStore

        whole = DiskDynamoStore._write_to_local_cache

        @functools.wraps(whole)
        def write(store: Any, data: bytes, path: str) -> None:
            self.keep("an entry, caching_precompile", data)
            whole(store, data, path)

        DiskDynamoStore._write_to_local_cache = write

    def _hook_saving(self, cls: Any, kind: str) -> None:
        whole = cls.serialize

        def serialize(self_or_cls: Any, *args: Any, **kwargs: Any) -> Any:
            made = whole(*args, **kwargs) if isinstance(self_or_cls, type) else whole(self_or_cls, *args, **kwargs)
            self.keep(kind, made if isinstance(made, bytes) else made.serialized_data)
            return made

        is_of_class = isinstance(vars(cls)["serialize"], classmethod)
        cls.serialize = classmethod(serialize) if is_of_class else serialize


class _NamedResult(unittest.TextTestResult):
    kept: Kept

    def startTest(self, test: unittest.TestCase) -> None:
        self.kept.test = test.id()
        super().startTest(test)


def record(files: Sequence[Path], folder: Path, only: str | None) -> None:
    """Run the cases of ``files``; the artefacts and their list go to ``folder``."""
    kept = Kept(folder)
    kept.hook()
    suite = unittest.TestSuite()
    for file in files:
        sys.path.insert(0, str(file.parent))
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None, file
        sys.modules[file.stem] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        suite.addTests(_named(unittest.defaultTestLoader.loadTestsFromModule(module), only))
    result = type("Result", (_NamedResult,), {"kept": kept})
    ran = unittest.TextTestRunner(sys.stderr, resultclass=result).run(suite)
    (folder / LIST).write_text(
        json.dumps(
            {
                "rows": kept.rows,
                "unsaved": kept.unsaved,
                "tests": ran.testsRun,
                "failed": len(ran.failures) + len(ran.errors),
                "skipped": len(ran.skipped),
            }
        )
    )


def _named(suite: unittest.TestSuite, only: str | None) -> Iterator[unittest.TestCase]:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from _named(one, only)
        elif only is None or only in one.id():
            yield one


class Executed(BaseException):
    """Something in the file would have run."""


def refuse_execution() -> None:
    """From now on, in this process: what only executing or loading does raises ``Executed``."""
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    of_torch = event == "import" and str(args[0]).partition(".")[0] == "torch"
    if not of_torch and event != "exec" and event not in _REFUSED:
        return  # first, as asking for a frame is an event, too
    if of_torch or "importlib._bootstrap" not in sys._getframe(1).f_code.co_filename:
        raise Executed(f"{event} {args[0] if args else ''}")


def open_all(folder: Path) -> int:
    """Open what is in ``folder``; a table, and an exit status."""
    from depyf.actions.opened.open_file import opened
    from depyf.errors import DepyfError

    listed = json.loads((folder / LIST).read_text())
    counts: dict[str, Counter[str]] = {}
    remarks: Counter[str] = Counter()
    where: dict[str, str] = {}
    refuse_execution()
    for row in listed["rows"]:
        said: list[str] = []
        count = counts.setdefault(row["kind"], Counter())
        count["artefacts"] += 1
        try:
            found = opened((folder / row["file"]).read_bytes(), row["file"])
        except DepyfError as error:
            said.append(f"does not open: {error}")
            count["wrong"] += 1
        except (Executed, Exception) as error:
            said.append(f"{type(error).__name__}: {error}")
            count["wrong"] += 1
        else:
            count["open"] += 1
            count["functions"] += bool(found.functions)
            count["guards"] += bool(found.guards)
            count["graphs"] += bool(found.texts)
            count["unproven"] += bool(found.unproven)
            said += [f"unproven: {one}" for one in found.unproven]
            said += [f"note: {one}" for one in found.notes]
        for one in said:
            one = re.sub(r"\b\d+\b|0x[0-9a-f]+", "N", one)
            remarks[one] += 1
            where.setdefault(one, f"{row['file']}, {row['test']}")
    print(f"{listed['tests']} tests, {listed['failed']} failed, {listed['skipped']} skipped")
    heads = ("artefacts", "open", "wrong", "functions", "guards", "graphs", "unproven")
    print(f"{'kind':40}", *(f"{head:>9}" for head in heads))
    for kind, count in sorted(counts.items()):
        print(f"{kind:40}", *(f"{count[head]:>9}" for head in heads))
    for kind, number in sorted(listed["unsaved"].items()):
        print(f"torch cannot save {number} of {kind}")
    for remark, number in remarks.most_common():
        print(f"{number} x {remark}  (first: {where[remark]})")
    return int(any(count["wrong"] for count in counts.values()))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--only", metavar="WORD")
    parser.add_argument("--out", type=Path, metavar="FOLDER")
    parser.add_argument("--step", choices=("record", "open"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.step == "record":
        record([file.resolve() for file in options.files], options.out, options.only)
        return 0
    if options.step == "open":
        return open_all(options.out)
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        step = [sys.executable, "-m", "tools.torch.aot_captures", "--out", str(out), "--step"]
        words = [*map(str, options.files), *(("--only", options.only) if options.only else ())]
        subprocess.run([*step, "record", *words], check=True)
        return subprocess.run([*step, "open"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
