"""Group the failures of a corpus run by reason: count, and the smallest example of each.

EQUIVALENT code is listed with ``--status EQUIVALENT`` only; its reason is the first instruction that differs.

python -m tools.corpus.triage corpus_out/3.11/failures.jsonl [--status failed] [--top 30] [--grep TEXT]
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any


def normal_form(reason: str) -> str:
    """The reason without what differs from one function to the next: numbers, quoted names, offsets."""
    reason = re.sub(r"cannot decompile( in [^ ]+)?( at offset \d+)?: ", "", reason)
    reason = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'...'", reason)
    reason = re.sub(r"\bnested \S+ is not proven", "nested ... is not proven", reason)
    reason = re.sub(r"\b(__temp_)?\d+\b", r"\1N", reason)
    return reason


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("failures", type=Path)
    parser.add_argument("--status", help="only this status: failed, UNVERIFIED, EQUIVALENT or WRONG")
    parser.add_argument("--grep", help="only reasons that contain this")
    parser.add_argument("--top", type=int, default=30)
    parser.add_argument("--examples", type=int, default=1)
    options = parser.parse_args()
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in options.failures.read_text().splitlines():
        record = json.loads(line)
        if record["status"] != options.status if options.status else record["status"] == "EQUIVALENT":
            continue
        if options.grep and options.grep not in record["reason"]:
            continue
        groups[record["status"], normal_form(record["reason"])].append(record)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    for (status, reason), records in ranked[: options.top]:
        print(f"{len(records):6}  {status}  {reason}")
        for record in sorted(records, key=lambda r: (r["n"], r["file"], r["qualname"]))[: options.examples]:
            print(f"          {record['file']}:{record['qualname']} ({record['n']} code units)")
            if normal_form(record["reason"]) != record["reason"]:
                print(f"            {record['reason'][:300]}")
    if len(ranked) > options.top:
        rest = sum(len(records) for _, records in ranked[options.top :])
        print(f"... and {len(ranked) - options.top} more reasons, {rest} code objects")


if __name__ == "__main__":
    main()
