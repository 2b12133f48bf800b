"""Code objects of every interpreter on this machine, read through their ``.pyc`` files."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.verify.recompiling.worker import worker_for
from needs import need
from tools.env.interpreters import VERSIONS, number, stdlib_of

MODULES = ("ast", "asyncio/tasks", "contextlib", "dataclasses", "heapq", "json/decoder", "tarfile", "typing", "zipfile")

COMPILE = (
    "import py_compile, sys\n"
    "for source, target in zip(sys.argv[1::2], sys.argv[2::2]): py_compile.compile(source, target, doraise=True)\n"
)


def compile_with(version: str, sources: list[Path]) -> list[bytes]:
    """The ``.pyc`` bytes that the interpreter writes for each source file; a test without that interpreter is skipped."""
    python = need(version)
    with tempfile.TemporaryDirectory() as folder:
        targets = [Path(folder, f"{k}.pyc") for k in range(len(sources))]
        pairs = [str(path) for pair in zip(sources, targets) for path in pair]
        subprocess.run([python, "-I", "-W", "ignore", "-c", COMPILE, *pairs], check=True, timeout=600)
        return [target.read_bytes() for target in targets]


@functools.cache
def stdlib_pycs(version: str) -> tuple[bytes, ...]:
    """``.pyc`` files of a handful of modules that use most of the language."""
    library = stdlib_of(need(version))
    paths = [library / f"{name}.py" for name in MODULES]
    paths = [path if path.exists() else path.with_suffix("") / "__init__.py" for path in paths]
    return tuple(compile_with(version, paths))


def walk(unit: CodeUnit) -> Iterator[CodeUnit]:
    """``unit`` and every unit nested in it."""
    yield unit
    for const in unit.consts:
        if isinstance(const, CodeUnit):
            yield from walk(const)


def compiled_text(version: str, text: str) -> CodeUnit:
    """The module ``text`` as compiled by ``version``: by the process of it that compiles for proofs, which is started once."""
    need(version)
    return loads(worker_for(number(version)).compile(text, filename="sample.py"), number(version))


__all__ = ["VERSIONS", "compile_with", "compiled_text", "stdlib_pycs", "walk"]
