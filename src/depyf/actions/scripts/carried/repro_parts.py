"""What a script of ``depyf repro`` needs beside the harness: settings, and calls that may raise."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from typing import Any


def set_as_recorded(settings: dict[str, Any]) -> None:
    """The settings of torch that were not the defaults."""
    for path, value in settings.items():
        start, _, name = path.partition(".config.")
        config = importlib.import_module(f"{start}.config")
        if hasattr(config, name):
            setattr(config, name, value)
        else:
            print(f"this torch has no {path}")


def attempt(title: str, call: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """What the call returns; None where it raises, and the traceback is printed."""
    print(f"\n{title}")
    try:
        results = call()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return None
    print("  no exception")
    return results
