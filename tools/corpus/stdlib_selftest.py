"""The independent check: the standard library's own tests, run on the standard library's decompiled text.

    python -m tools.corpus.stdlib_selftest                     the default modules, this interpreter
    python -m tools.corpus.stdlib_selftest --only json --keep  one of them, decompiled text kept in corpus_out/selftest

For each module: its files (a package with all its submodules) are decompiled into a shadow folder.  The module's own
``test.test_X`` runs twice, in processes of its own, with the original and with an import hook that loads the module
from the shadow folder.  The two runs must agree on every test: same ids, same outcomes.  The hooked process reports
which files it really loaded, so a module that was imported before the hook counts as an error, not as a pass.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import sysconfig
import time
import warnings
from pathlib import Path

from tools import ROOT

STDLIB = Path(sysconfig.get_paths()["stdlib"])
SHADOW = ROOT / "corpus_out" / "selftest"

# module -> its test modules
MODULES = {
    "argparse": ["test.test_argparse"],
    "ast": ["test.test_ast", "test.test_unparse"],
    "base64": ["test.test_base64"],
    "bisect": ["test.test_bisect"],
    "calendar": ["test.test_calendar"],
    "collections": ["test.test_collections", "test.test_ordered_dict", "test.test_userdict"],
    "configparser": ["test.test_configparser"],
    "contextlib": ["test.test_contextlib", "test.test_contextlib_async"],
    "copy": ["test.test_copy"],
    "csv": ["test.test_csv"],
    "dataclasses": ["test.test_dataclasses"],
    "datetime": ["test.test_datetime"],
    "difflib": ["test.test_difflib"],
    "email": ["test.test_email"],
    "enum": ["test.test_enum"],
    "fnmatch": ["test.test_fnmatch"],
    "fractions": ["test.test_fractions"],
    "functools": ["test.test_functools"],
    "gettext": ["test.test_gettext"],
    "graphlib": ["test.test_graphlib"],
    "heapq": ["test.test_heapq"],
    "html": ["test.test_html", "test.test_htmlparser"],
    "inspect": ["test.test_inspect"],
    "ipaddress": ["test.test_ipaddress"],
    "json": ["test.test_json"],
    "locale": ["test.test_locale"],
    "pathlib": ["test.test_pathlib"],
    "plistlib": ["test.test_plistlib"],
    "pprint": ["test.test_pprint"],
    "queue": ["test.test_queue"],
    "random": ["test.test_random"],
    "re": ["test.test_re"],
    "sched": ["test.test_sched"],
    "shlex": ["test.test_shlex"],
    "statistics": ["test.test_statistics"],
    "string": ["test.test_string"],
    "tempfile": ["test.test_tempfile"],
    "textwrap": ["test.test_textwrap"],
    "tokenize": ["test.test_tokenize"],
    "typing": ["test.test_typing"],
    "urllib": ["test.test_urlparse", "test.test_urllib"],
    "uuid": ["test.test_uuid"],
    "weakref": ["test.test_weakref"],
    "xml": ["test.test_xml_etree", "test.test_minidom"],
    "zipfile": ["test.test_zipfile"],
}

# Runs in the child.  Arguments: shadow folder or "", module, test modules.
CHILD = r"""
import importlib.abc, importlib.machinery, json, os, sys, unittest
shadow, module, tests = sys.argv[1], sys.argv[2], sys.argv[3:]
loaded = []
if shadow:
    class Loader(importlib.machinery.SourceFileLoader):
        def get_code(self, fullname):
            # compiled under the shadow path: tracebacks then quote the decompiled lines, as some tests expect
            path = os.path.join(shadow, os.path.relpath(self.path, os.environ["SELFTEST_STDLIB"]))
            with open(path, "rb") as file:
                text = file.read()
            loaded.append(fullname)
            return compile(text, path, "exec", dont_inherit=True)

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, fullname, path, target=None):
            if fullname != module and not fullname.startswith(module + "."):
                return None
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
                spec.loader = Loader(spec.loader.name, spec.loader.path)
            return spec

    sys.meta_path.insert(0, Finder())
    # what the interpreter's start-up or this script imported already is imported again, through the hook
    for name in [n for n in sys.modules if n == module or n.startswith(module + ".")]:
        del sys.modules[name]
    __import__(module)


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcome = {}
    def note(self, test, kind):
        self.outcome.setdefault(test.id(), []).append(kind)
    def addSuccess(self, test): self.note(test, "ok")
    def addError(self, test, err):
        self.note(test, "error"); super().addError(test, err)
    def addFailure(self, test, err):
        self.note(test, "failure"); super().addFailure(test, err)
    def addSkip(self, test, reason): self.note(test, "skipped")
    def addExpectedFailure(self, test, err): self.note(test, "expected failure")
    def addUnexpectedSuccess(self, test): self.note(test, "unexpected success")
    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(subtest, "failed subtest"); super().addSubTest(test, subtest, err)


import test.support
test.support.use_resources = []
result = Result()
suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in tests)
real = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
suite.run(result)
sys.stdout.flush()
details = {t.id(): text[-1500:] for t, text in result.errors + result.failures}
os.write(real, json.dumps({"outcome": result.outcome, "loaded": sorted(set(loaded)), "details": details}).encode())
os._exit(0)
"""


def files_of(module: str) -> list[Path]:
    """The pure-Python files of a top-level module, without its own test packages."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise SystemExit(f"selftest: no module {module}")
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)]
    folder = Path(spec.origin).parent
    return [path for path in sorted(folder.rglob("*.py")) if "test" not in path.parts and "tests" not in path.parts]


def decompile_module(module: str) -> tuple[int, int, list[str]]:
    """Write the decompiled text of a module to the shadow folder: files, proven code objects, complaints."""
    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.driver.pipeline import decompile_unit

    proven = 0
    complaints: list[str] = []
    paths = files_of(module)
    for path in paths:
        relative = path.relative_to(STDLIB)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        try:
            result = decompile_unit(CodeUnit.from_code(code))
        except Exception as error:
            complaints.append(f"{relative}: {type(error).__name__}: {error}")
            continue
        proven += sum(verdict.proven for verdict in result.verdicts)
        complaints += [f"{relative}: {v.qualname}: {v.reason}" for v in result.verdicts if not v.proven]
        target = SHADOW / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(result.source, encoding="utf-8")
    return len(paths), proven, complaints


def run_tests(module: str, tests: list[str], shadow: str, limit: int) -> dict[str, object]:
    command = [sys.executable, "-W", "ignore", "-c", CHILD, shadow, module, *tests]
    environment = {"SELFTEST_STDLIB": str(STDLIB), "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "HOME": "/tmp"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=limit, cwd="/tmp", check=False)
    except subprocess.TimeoutExpired:
        return {"crash": f"longer than {limit} s"}
    try:
        record: dict[str, object] = json.loads(done.stdout)
    except ValueError:
        return {"crash": done.stderr.decode(errors="replace").strip()[-2000:] or f"exit status {done.returncode}"}
    return record


def compare(original: dict[str, object], decompiled: dict[str, object], module: str) -> list[str]:
    for name, record in (("original", original), ("decompiled", decompiled)):
        if "crash" in record:
            return [f"{name}: {record['crash']}"]
    loaded = decompiled["loaded"]
    assert isinstance(loaded, list)
    if not any(name == module or name.startswith(module + ".") for name in loaded):
        return ["the decompiled text was not loaded"]
    before, after = original["outcome"], decompiled["outcome"]
    details = decompiled["details"]
    assert isinstance(before, dict) and isinstance(after, dict) and isinstance(details, dict)
    differences = []
    for test in sorted({*before, *after}):
        if before.get(test) != after.get(test):
            detail = details.get(test, "").strip().splitlines()[-1:]
            differences.append(f"{test}: {before.get(test)} -> {after.get(test)} {' '.join(detail)}")
    return differences


def check(module: str, limit: int) -> tuple[list[str], list[str]]:
    """Table row and differences of one module."""
    files, proven, complaints = decompile_module(module)
    tests = MODULES[module]
    original = run_tests(module, tests, "", limit)
    decompiled = run_tests(module, tests, str(SHADOW), limit)
    differences = complaints + compare(original, decompiled, module)
    outcome = original.get("outcome", {})
    assert isinstance(outcome, dict)
    skipped = sum(kinds == ["skipped"] for kinds in outcome.values())
    bad = sum(any(k in ("error", "failure", "failed subtest") for k in kinds) for kinds in outcome.values())
    row = [module, str(files), str(proven), str(len(outcome)), str(skipped), str(bad)]
    return [*row, "same" if not differences else f"{len(differences)} differ"], differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="this module (may be given again)")
    parser.add_argument("--limit", type=int, default=300, help="seconds one test run may take")
    parser.add_argument("--shown", type=int, default=5, help="differences printed for a module")
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    header = ["module", "files", "proven code", "tests", "skipped", "bad in both", "outcome"]
    print("  ".join(f"{cell:>12}" for cell in header))
    wrong = 0
    started = time.monotonic()
    names = options.only or list(MODULES)
    for module in names:
        row, differences = check(module, options.limit)
        wrong += bool(differences)
        print("  ".join(f"{cell:>12}" for cell in row), flush=True)
        for line in differences[: options.shown]:
            print("      " + line)
    print(f"{len(names) - wrong} of {len(names)} modules behave alike, {time.monotonic() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
