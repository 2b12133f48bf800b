"""Which of torch's errors end a compilation, and which of them the program sees.

Input: the name of the class of an error, asked while torch reports it or afterwards.  Output: yes or no.
"""

from __future__ import annotations

import sys

_DEPTH = 60


_GIVES_UP = ("Unsupported", "UserError", "SkipFrame")
"""torch's errors after which the frame runs as ordinary Python, unless the compilation is one with
``fullgraph=True``."""


def raises(error: str) -> bool:
    """Whether torch raises ``error`` (a class name) into the program.  Call it while torch reports the error."""
    from torch._dynamo import config

    if gives_up(error):
        return "SkipFrame" not in _class_names(error) and must_not_break()
    return not config.suppress_errors


def raised_then(error: str) -> bool:
    """Whether torch raised ``error`` in a past compilation, assuming that it was without ``fullgraph=True``."""
    from torch._dynamo import config

    return bool(error) and not gives_up(error) and not config.suppress_errors


def gives_up(error: str) -> bool:
    """Whether ``error`` (a class name) makes Dynamo run the function as Python, unless graph breaks are errors."""
    return any(name in _GIVES_UP for name in _class_names(error))


def _class_names(error: str) -> list[str]:
    from torch._dynamo import exc

    found = getattr(exc, error, None)
    return [cls.__name__ for cls in found.__mro__] if isinstance(found, type) else [error]


def must_not_break() -> bool:
    """Whether the compilation that torch reports on at this moment is one with ``fullgraph=True``, or at a place under
    ``error_on_graph_break(True)``, where a graph break is an error of the user's to see; True where that cannot be
    known."""
    frame = sys._getframe(1)
    for _ in range(_DEPTH):
        if "one_graph" in frame.f_code.co_varnames:
            tracer = frame.f_locals.get("tracer_output")  # it knows what held where the graph broke
            return bool(frame.f_locals.get("one_graph", True) or getattr(tracer, "error_on_graph_break", False))
        if frame.f_back is None:
            break
        frame = frame.f_back
    return True
