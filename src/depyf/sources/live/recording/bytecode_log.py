"""``depyf.install()``: the decompiled source of transformed code in torch's bytecode log."""

from __future__ import annotations

import logging
import types
from typing import Any

from depyf.errors import DepyfError
from depyf.safety.guarded import Door

_handle: Any = None


def install() -> None:
    """Register the hook once; DepyfError where torch is missing or too old."""
    from depyf.sources.live.require import require_torch

    global _handle
    require_torch()
    if _handle is None:
        from torch._dynamo.convert_frame import register_bytecode_hook

        _handle = register_bytecode_hook(log_source)


def uninstall() -> None:
    global _handle
    if _handle is not None:
        _handle.remove()
        _handle = None


def log_source(code: types.CodeType, made: types.CodeType) -> None:
    """A bytecode hook: log ``made`` as source, change nothing.  Costs nothing while that log is off."""
    with Door("depyf could not log", logging.getLogger(__name__).debug):
        log = _bytecode_log()
        if not log.isEnabledFor(logging.DEBUG):
            return
        from depyf.decompiler.driver.pipeline import decompile_code
        from depyf.sources.live.generated import generated_options

        try:
            text = decompile_code(made, options=generated_options(code, made)).shown
        except DepyfError as error:
            text = str(error)
        log.debug("decompiled code of %s (%s:%s):\n%s", code.co_name, code.co_filename, code.co_firstlineno, text)


def _bytecode_log() -> logging.Logger:
    """torch's artifact logger for bytecode."""
    from torch._logging import getArtifactLogger

    log: logging.Logger = getArtifactLogger("torch._dynamo.convert_frame", "bytecode")
    return log
