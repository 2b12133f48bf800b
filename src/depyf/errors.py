"""Every error depyf raises on purpose."""

from __future__ import annotations


class DepyfError(Exception):
    """Base class; its message says what to do."""


def _line(message: object) -> str:
    """``message`` on one line, with an escape for what moves or changes what a terminal shows: names are the
    program's."""
    return "".join([char if char.isprintable() else ascii(char)[1:-1] for char in str(message)])


class DecompilationError(DepyfError):
    """No source could be produced for a function; names the function, the instruction and the reason.

    The message is one line of what can be printed, whatever the names in it are.
    """

    def __init__(self, reason: str, function: str = "", offset: int | None = None) -> None:
        self.reason = reason
        self.function = function
        self.offset = offset
        where = f" in {function}" if function else ""
        at = f" at offset {offset}" if offset is not None else ""
        super().__init__(_line(f"cannot decompile{where}{at}: {reason}"))


class BytecodeError(DepyfError):
    """Malformed bytecode, ``.pyc`` file or marshal data; the message carries the offset, on one line of what can be
    printed."""

    def __init__(self, message: object) -> None:
        super().__init__(_line(message))


class NonFiniteError(DepyfError):
    """A graph created the value that ``depyf.debug(stop_on=...)`` names, and no debugger was there to stop in.

    ``where`` (a ``depyf.Where``) is the line of the graph, with the user's line.  ``module`` is the path of the
    ``nn.Module`` that computes it (``h.0.attn``; "" outside of modules).  ``value`` and ``operands`` (a tuple) say what
    the line computed and from what: each has ``name``, ``shape``, ``dtype``, ``low`` and ``high`` of the finite
    elements, ``nans``, ``infs`` (how many) and ``first`` (the index of the first such element; None without one).
    """

    def __init__(
        self, message: str, where: object, module: str = "", value: object = None, operands: tuple[object, ...] = ()
    ) -> None:
        super().__init__(message)
        self.where = where
        self.module = module
        self.value = value
        self.operands = operands
