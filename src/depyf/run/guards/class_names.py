"""Classes in the text of a guard, as Python that a page can evaluate.

<class 'torch.Tensor'> in G['nodes']   ->   torch.Tensor in G['nodes']
"""

from __future__ import annotations

import builtins
import re

_CLASS = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|<(?:class|enum) '(?P<name>[\w.]+)'>""")
"""A class as ``repr`` shows it, or a string, in which there may be such a text."""


def classes_named(text: str) -> str:
    """``text`` with a name or a call of ``class_named`` in the place of each class."""

    def name(match: re.Match[str]) -> str:
        found = match["name"]
        if found is None:
            return match[0]
        if found == "NoneType":
            return "type(None)"
        return found if found.startswith("torch.") or found in vars(builtins) else f"class_named({found!r})"

    return _CLASS.sub(name, text)
