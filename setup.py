"""The compiled build: mypyc makes extension modules of some packages.  Off unless ``DEPYF_COMPILE`` is set.

    DEPYF_COMPILE=1 pip install .

Everything else about the package is in pyproject.toml.  A wheel of compiled modules holds their sources, too: what is shown in
a traceback.  ``DEPYF_COMPILE_LEVEL`` is how much the C compiler optimises (1), ``DEPYF_COMPILE_JOBS`` how many libraries it
compiles at a time (as many as there are cores).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from setuptools import setup

ROOT = Path(__file__).resolve().parent
SOURCE, WRITTEN = ROOT / "src", ROOT / "build" / "native"
GROUPS = {
    "reading": ("decompiler/bytecode",),
    "trees": ("decompiler/ir", "decompiler/cfg"),
    "lifting": ("decompiler/lift", "decompiler/fallback"),
    "structuring": ("decompiler/structure",),
    "writing": ("decompiler/emit", "decompiler/idioms"),
    "generated": ("decompiler/generated",),
    "driving": ("decompiler/driver",),
    "proving": ("decompiler/verify",),
}
"""Packages and modules that are compiled, by the library that they are linked into: what is in one calls each other directly."""
INTERPRETED = {
    "decompiler/emit/expressions/quoting.py": "strings with surrogates are not compiled",
    "decompiler/bytecode/tables/set_order.py": "a class that inherits from one of C is not compiled",
    "decompiler/driver/alone.py": "it is for exports, which take no time",
    "decompiler/driver/pipeline.py": "it does little itself, and interpreted code replaces what it calls, in tests",
    "decompiler/driver/rungs.py": "members of an enumeration cannot have the names of constants of the module",
    "decompiler/driver/state.py": "a dataclass with fields that are set later",
    "decompiler/driver/steps.py": "it catches what a compiled pass leaves unset",
    "decompiler/verify/recompiling/interpreters.py": "it does little itself, and interpreted code replaces what it calls, in tests",
    "decompiler/verify/recompiling/worker.py": "another Python runs its text",
    "decompiler/ir/grown.py": "a compiled class that inherits Sequence takes what is registered there for its own instances",
    "decompiler/ir/node.py": "what it does at run time is not what the type checker is told",
    "decompiler/ir/transformer.py": "a class that is not compiled cannot inherit from one that is",
}
"""Modules of these packages that stay as they are, and why."""
SEEN = {"decompiler/ir/grown.py"}
"""Those of them whose types what is compiled is checked against: they are written out for it, too."""
WRITTEN_IN_C = Path("build/mypyc-%d.%d" % sys.version_info[:2])
"""What mypyc writes depends on the version."""
MYPY = "mypy>=2.1"
FLAGS: list[str] = []
if sys.platform != "win32":
    FLAGS.append("-fcommon")  # each file of a library defines the table of what it imports from another one
if sys.platform == "linux":
    FLAGS += ["-fvisibility=hidden", "-fno-plt"]  # calls go straight: to other files of the library, and to Python
ON = os.environ.get("DEPYF_COMPILE", "0") not in ("", "0")


def library_of(module: str) -> str | None:
    """The library of a module, which is named by its path below ``src/depyf``; None where it is not compiled."""
    if module in INTERPRETED or module.endswith("__init__.py"):
        return None
    parts = (module, "/".join(module.split("/")[:2]))
    return next((name for name, compiled in GROUPS.items() if any(part in compiled for part in parts)), None)


def write_sources() -> dict[str, list[str]]:
    """Write what is compiled to ``build/native``; the files of each library."""
    sys.path.insert(0, str(ROOT))
    from tools.native.native_sources import expanded

    files: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE)
        library = library_of(relative.relative_to("depyf").as_posix())
        text = path.read_text(encoding="utf-8")
        target = WRITTEN / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            expanded(text) if library or path.relative_to(SOURCE / "depyf").as_posix() in SEEN else text,
            encoding="utf-8",
        )
        if library:
            files.setdefault(library, []).append(target.relative_to(ROOT).as_posix())
    return files


def extensions() -> list[Any]:
    from mypyc.build import mypycify

    groups: Any = [(files, f"depyf_{name}") for name, files in write_sources().items()]
    found = mypycify(
        ["--config-file=tools/native/compiled.ini", *(path for files, _ in groups for path in files)],
        opt_level=os.environ.get("DEPYF_COMPILE_LEVEL", "1"),
        debug_level="0",
        multi_file=True,
        separate=groups,
        target_dir=WRITTEN_IN_C.as_posix(),
    )
    for extension in found:  # of modules that are as in the last build, mypyc forgets what they use of its own sources
        if any(Path(source).name == "init.c" for source in extension.sources):
            used = map(str, sorted(WRITTEN_IN_C.glob("*_extra_ops.c")))
            extension.sources += [source for source in used if source not in extension.sources]
    for extension in found:  # all share one list
        extension.extra_compile_args = [*extension.extra_compile_args, *FLAGS]
    return list(found)


if not ON:
    setup()
elif {"egg_info", "dist_info"} & set(sys.argv):  # asked what the build needs, and what it makes: not to make it
    setup(setup_requires=[MYPY])
else:
    jobs = int(os.environ.get("DEPYF_COMPILE_JOBS", "0")) or os.cpu_count() or 1
    setup(ext_modules=extensions(), options={"build_ext": {"parallel": jobs}})
