"""``listing`` says of every argument what ``dis`` says, on every host."""

import subprocess
import sys
from pathlib import Path

import pytest

from depyf.decompiler.bytecode.host.listing import listing
from needs import need

ROOT = Path(__file__).resolve().parents[5]


@pytest.mark.parametrize("host", ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"])
def test_arguments_mean_what_dis_says(host):
    python = need(host)
    script = ROOT / "tests" / "support" / "listing_agreement.py"
    done = subprocess.run([python, "-I", script, ROOT / "src"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def example(items):
    try:
        for item in items:
            print(item)
    except ValueError:
        pass


def test_lines_jumps_and_handlers():
    lines = listing(example.__code__).splitlines()
    first = example.__code__.co_firstlineno
    assert any(line.startswith(f"{first + 2:3}  ") for line in lines)
    target = next(line.split("(to ")[1].rstrip(")") for line in lines if "FOR_ITER" in line)
    assert [line for line in lines if line[8:].startswith(f">> {target:>4} ")]
    assert ("ExceptionTable:" in lines) == (sys.version_info >= (3, 11))


def test_what_a_constant_looks_like_is_for_the_caller():
    def constant():
        return "secret", 1.5

    assert "secret" not in listing(constant.__code__, lambda const: "?")
