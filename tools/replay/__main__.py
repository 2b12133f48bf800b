"""Compare what two commits write.

    python -m replay --base COMMIT [--quick] [--only "cases 3.8"] [--jobs 2] [--show 3]      make replay BASE=<commit>

The inputs (``inputs.py``): all of Lib of each interpreter found, the golden cases in each mode, random modules, functions cut
as torch cuts them, the dumps of the test programs and models.  Each side is recorded once for a state of ``src``, shard by
shard, below ``.cache/replay``; what was recorded before is taken from there, and a run that was stopped goes on.  Printed:
a row for each shard, a table "verdict before x after" where verdicts differ, the first differences of texts.  The exit
status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOOLS.parent / "src"), str(TOOLS)]

from replay.inputs import ROOT, Shard, shards

KEPT = ROOT / ".cache" / "replay"
Record = dict[str, dict[str, Any]]
"""By key."""


def checked_out(commit: str) -> Path:
    """A folder with the files of a commit."""
    name = subprocess.run(["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    if name.returncode:
        raise SystemExit(f"replay: {commit!r} is no commit: name one with BASE=")
    tree = KEPT / "trees" / name.stdout.strip()
    if not tree.exists():
        tree.mkdir(parents=True)
        archive = subprocess.Popen(["git", "archive", name.stdout.strip(), "src", "tools"], cwd=ROOT, stdout=subprocess.PIPE)  # fmt: skip
        subprocess.run(["tar", "-x", "-C", str(tree)], stdin=archive.stdout, check=True)
        if archive.wait():
            raise SystemExit(f"replay: git archive of {commit} failed")
    return tree


def state(tree: Path) -> str:
    """A hash of the package's files."""
    digest = hashlib.sha256()
    for path in sorted((tree / "src").rglob("*.py")):
        digest.update(path.relative_to(tree).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def recorded(tree: Path, shard: Shard, quick: bool) -> Record:
    """What a tree writes for a shard: from the record, and what is missing there by running it."""
    out = KEPT / "records" / state(tree) / f"{shard.name}{' quick' if quick and shard.kind != 'pyc' else ''}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    keys = shard.keys(quick) if shard.kind == "pyc" else []
    complete = out.with_suffix(".complete")
    if shard.kind == "pyc" or not complete.exists():
        if shard.kind != "pyc":
            out.unlink(missing_ok=True)
        _run(tree, shard, quick, str(out), keys)
        complete.touch()
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []
    wanted = set(keys)
    return {row["key"]: row for row in rows if not wanted or row["key"] in wanted}


def _run(tree: Path, shard: Shard, quick: bool, out: str, keys: list[str]) -> str:
    command = [
        sys.executable,
        str(TOOLS / "replay" / "record.py"),
        str(tree),
        shard.kind,
        shard.mode,
        str(shard.folder),
    ]
    done = subprocess.run([*command, out, str(int(quick))], input=json.dumps(keys), capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode:
        raise SystemExit(f"replay: {shard.name} of {tree} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def verdict(row: dict[str, Any] | None) -> str:
    return "missing" if row is None else " ".join(f"{name} {count}" for name, count in sorted(row["verdicts"].items()))


def show(shard: Shard, trees: tuple[Path, Path], keys: list[str], quick: bool) -> None:
    """Print how the texts of some keys differ."""
    texts = [dict(map(json.loads, _run(tree, shard, quick, "-", keys).splitlines())) for tree in trees]
    for key in keys:
        before, after = (found.get(key, "").splitlines() for found in texts)
        print(f"\n{shard.name}: {key}")
        lines = list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2))
        print("\n".join(lines[:40]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="replay", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--base", required=True, metavar="COMMIT", help="the commit to compare the working tree with")
    parser.add_argument("--quick", action="store_true", help="a sample of every shard")
    parser.add_argument("--only", default="", help="shards whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--show", type=int, default=3, help="texts of each shard of which the difference is printed")
    options = parser.parse_args()
    trees = checked_out(options.base), ROOT
    work = list(shards(options.only))
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = [(shard, [pool.submit(recorded, tree, shard, options.quick) for tree in trees]) for shard in work]
        moved: Counter[tuple[str, str]] = Counter()
        shown: list[tuple[Shard, list[str]]] = []
        print(f"{'shard':24} {'inputs':>7} {'texts differ':>13} {'verdicts differ':>16}")
        for shard, (first, second) in futures:
            before, after = first.result(), second.result()
            keys = sorted({*before, *after})
            texts = [key for key in keys if before.get(key, {}).get("text") != after.get(key, {}).get("text")]
            verdicts = [key for key in keys if verdict(before.get(key)) != verdict(after.get(key))]
            moved.update((verdict(before.get(key)), verdict(after.get(key))) for key in verdicts)
            print(f"{shard.name:24} {len(keys):7} {len(texts):13} {len(verdicts):16}", flush=True)
            if texts or verdicts:
                shown.append((shard, [*verdicts, *(key for key in texts if key not in verdicts)]))
    if moved:
        print("\nverdicts before -> after")
        for (old, new), count in moved.most_common(30):
            print(f"{count:6}  {old} -> {new}")
    for shard, keys in shown:
        show(shard, trees, keys[: options.show], options.quick)
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
