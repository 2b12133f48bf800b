"""What could not leave the process that compiled, by name: a person, or the recorded call, fills it in.

Output: the text of ``hooks.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.decompiler.emit.comments import in_docstring, remark
from depyf.safety.escape import printable


@dataclass(slots=True)
class Hooks:
    """``wanted``: name -> what it stands for.  ``known``: name -> its text, and what it stands for; the guards told
    it."""

    wanted: dict[str, str] = field(default_factory=dict)
    known: dict[str, tuple[str, str]] = field(default_factory=dict)

    def want(self, name: str, about: str) -> None:
        if name not in self.known:
            self.wanted.setdefault(name, printable(about))

    def know(self, name: str, text: str, about: str) -> None:
        self.wanted.pop(name, None)
        self.known.setdefault(name, (text, printable(about)))


def hooks_text(hooks: Hooks, package: str, function: str) -> str:
    """``hooks.py``."""
    lines = [
        f'"""What could not leave the process that compiled ``{in_docstring(printable(function))}``.',
        "",
        "Fill in what is wanted before the first call, from your own code:",
        "",
        f"    import {package}",
        f"    {package}.hooks.{next(iter(hooks.wanted), 'name')} = ...",
        "",
        "What is wanted and not filled in is an error that names it, where it is needed.",
        '"""',
        "",
        "from .runtime import MissingHook",
        "",
    ]
    if not hooks.wanted:
        lines[2:8] = ["Nothing is missing here."]
    wanted = [f"    {name!r}: {about!r}," for name, about in sorted(hooks.wanted.items())]
    lines += ["WANTED = {", *wanted, "}"] if wanted else ["WANTED = {}"]
    lines += ['"""Name -> what it stands for."""']
    if hooks.known:
        lines.append("")
        lines += [remark(f"{name} = {text}", about) for name, (text, about) in sorted(hooks.known.items())]
    lines += [
        "",
        "",
        "def __getattr__(name):",
        "    if name in WANTED:",
        '        raise MissingHook(f"{__name__}.{name} is not filled in: {WANTED[name]}")',
        '    raise AttributeError(f"{__name__}.{name} is not filled in")',
    ]
    return "\n".join(lines) + "\n"
