"""``depyf.explain.enable_debugging``: names of the published depyf that serving engines look up.

The published depyf exchanges torch's function that loads generated code; here it is left alone, and its code is
recorded.
"""

from __future__ import annotations

from typing import Any

from depyf.api import debug, prepare_debug

__all__ = ["debug", "patched_load_by_key_path", "prepare_debug"]


def patched_load_by_key_path(*args: Any, **kwargs: Any) -> Any:
    """Calls torch's ``PyCodeCache.load_by_key_path`` with the same arguments."""
    from depyf.sources.live.recording.loaded_code import loader

    return loader()(*args, **kwargs)
