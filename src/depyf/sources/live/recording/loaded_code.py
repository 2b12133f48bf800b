"""Generated code that Inductor loads; above all what it loaded while recording, and no event told of.

Code for autotuning, and what a backend of the program writes through ``PyCodeCache`` itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from depyf.sources.live.pure_access import is_a, own_attributes


def loaded_files() -> dict[str, None]:
    """The files of all code that Inductor has loaded in this process, in order; nothing is imported for that."""
    cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
    found = (_file(module) for module in list(getattr(cache, "modules", ())))
    return {path: None for path in found if path}


def loader() -> Callable[..., Any]:
    """Torch's function that loads a file of generated code; raises what importing torch raises."""
    from torch._inductor.codecache import PyCodeCache

    load: Callable[..., Any] = PyCodeCache.load_by_key_path
    return load


def _file(module: Any) -> str:
    path = (own_attributes(module) or {}).get("__file__")
    return str(path) if is_a(path, str) else ""


def text_of(path: str) -> str:
    """The text of the file; "" where it no longer exists."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
