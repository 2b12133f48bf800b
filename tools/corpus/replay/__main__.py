"""Compare what two commits write.

    python -m tools.corpus.replay --base COMMIT [--quick] [--only "cases 3.8"] [--jobs 2] [--show 3]      make replay BASE=<commit>

The inputs (``inputs.py``): all of Lib of each interpreter found, the golden cases in each mode, random modules, functions cut
as torch cuts them, the dumps of the test programs and models.  Each side is recorded once for a state of ``src``, shard by
shard, below ``.cache/replay``; what was recorded before is taken from there, and a run that was stopped goes on.  Printed:
a row for each shard, a table "verdict before x after" where verdicts differ, the first differences of texts.  The exit
status is 1 if anything differs.  Of manifests the fields are compared that both commits write; those of one only are named.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import subprocess
import sys
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tools.corpus.replay.inputs import ROOT, Shard, shards

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
    out = KEPT / "records" / state(tree) / f"{shard.name}{' sample' if quick and shard.kind != 'pyc' else ''}.jsonl"
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
        str(Path(__file__).with_name("record.py")),
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


def body(row: dict[str, Any] | None) -> str | None:
    """The text, where the record has it."""
    packed = (row or {}).get("body")
    return None if packed is None else zlib.decompress(b64decode(packed)).decode("utf-8", "surrogatepass")


def in_common(before: Any, after: Any, only: Counter[str], where: str = "") -> tuple[Any, Any]:
    """Two JSON values without the fields, and the files of a dump, that one side lacks; ``only`` counts these."""
    if isinstance(before, dict) and isinstance(after, dict):
        only.update(f"{where}{key}" for key in before.keys() ^ after.keys())
        pairs = {key: in_common(before[key], after[key], only, f"{where}{key}.") for key in before if key in after}
        return {key: one for key, (one, _) in pairs.items()}, {key: two for key, (_, two) in pairs.items()}
    if isinstance(before, list) and isinstance(after, list):
        if all(isinstance(item, dict) and "file" in item for item in (*before, *after)):
            names = [{item["file"] for item in side} for side in (before, after)]
            only.update({f"{where}file": len(names[0] ^ names[1])} if names[0] != names[1] else {})
            before, after = ([item for item in side if item["file"] in names[0] & names[1]] for side in (before, after))
        if len(before) == len(after):
            found = [in_common(one, two, only, where) for one, two in zip(before, after)]
            return [one for one, _ in found], [two for _, two in found]
    return before, after


def comparable(shard: Shard, before: Record, after: Record) -> list[str]:
    """Reduce manifests that both sides have to their common fields; what to say of the other fields."""
    said = []
    for key in sorted(before.keys() & after.keys()):
        rows = before[key], after[key]
        texts = [body(row) for row in rows]
        if not key.endswith("manifest.json") or None in texts or texts[0] == texts[1]:
            continue
        only: Counter[str] = Counter()
        for row, value in zip(rows, in_common(*map(json.loads, map(str, texts)), only)):
            text = json.dumps(value, indent=1, ensure_ascii=False)
            row["text"] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            row["body"] = b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"))).decode()
        if only:
            said.append(f"{shard.name}: {key}: of one commit only: {', '.join(sorted(only))}")
    return said


def show(shard: Shard, trees: tuple[Path, Path], records: tuple[Record, Record], keys: list[str], quick: bool) -> None:
    """Print how the texts of some keys differ: those of the record, or made again."""
    if shard.kind == "dump":
        texts = [{key: body(record.get(key)) or "" for key in keys} for record in records]
    else:
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
    work = list(shards(options.only, options.quick))
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = [(shard, [pool.submit(recorded, tree, shard, options.quick) for tree in trees]) for shard in work]
        moved: Counter[tuple[str, str]] = Counter()
        shown: list[tuple[Shard, tuple[Record, Record], list[str]]] = []
        remarks: list[str] = []
        print(f"{'shard':24} {'inputs':>7} {'texts differ':>13} {'verdicts differ':>16}")
        for shard, (first, second) in futures:
            before, after = first.result(), second.result()
            remarks += comparable(shard, before, after)
            keys = sorted({*before, *after})
            texts = [key for key in keys if before.get(key, {}).get("text") != after.get(key, {}).get("text")]
            verdicts = [key for key in keys if verdict(before.get(key)) != verdict(after.get(key))]
            moved.update((verdict(before.get(key)), verdict(after.get(key))) for key in verdicts)
            print(f"{shard.name:24} {len(keys):7} {len(texts):13} {len(verdicts):16}", flush=True)
            if texts or verdicts:
                chosen = [*verdicts, *(key for key in texts if key not in verdicts)][: options.show]
                shown.append((shard, (before, after), chosen))
    if moved:
        print("\nverdicts before -> after")
        for (old, new), count in moved.most_common(30):
            print(f"{count:6}  {old} -> {new}")
    for remark in remarks:
        print(remark)
    for shard, records, keys in shown:
        show(shard, trees, records, keys, options.quick)
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
