"""What could not leave the process that compiled, by name: a person, or the recorded call, fills it in.

Output: the text of ``hooks.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.actions.scripts.fill import Value, fill
from depyf.decompiler.emit.comments import in_docstring, remark
from depyf.safety.escape import printable


@dataclass(slots=True)
class Hooks:
    """The hooks of a package.  ``wanted``: name -> what the user must provide.  ``known``: name -> its text and what it
    is, for a value that guards determine."""

    wanted: dict[str, str] = field(default_factory=dict)
    known: dict[str, tuple[str, str]] = field(default_factory=dict)

    def want(self, name: str, about: str) -> None:
        if name not in self.known:
            self.wanted.setdefault(name, printable(about))

    def know(self, name: str, text: str, about: str) -> None:
        self.wanted.pop(name, None)
        self.known.setdefault(name, (text, printable(about)))


def hooks_text(hooks: Hooks, package: str, function: str) -> str:
    """The text of ``hooks.py``."""
    about = [
        "Fill in what is wanted before the first call, from your own code:",
        "",
        f"    import {package}",
        f"    {package}.hooks.{next(iter(hooks.wanted), 'name')} = ...",
        "",
        "What is wanted and not filled in is an error that names it, where it is needed.",
    ]
    values: dict[str, Value] = {
        "FUNCTION": in_docstring(printable(function)),
        "ABOUT": about if hooks.wanted else ["Nothing is missing here."],
        "WANTED_NAMES": [f"{name!r}: {about!r}," for name, about in sorted(hooks.wanted.items())],
        "KNOWN": [remark(f"{name} = {text}", about) for name, (text, about) in sorted(hooks.known.items())],
    }
    return fill("package_hooks", values)
