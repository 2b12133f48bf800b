"""How torch came to the code that runs in the place of a function."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Made(enum.Enum):
    """How a compilation was made: at a call, ahead of time, or loaded."""

    CALL = "at call"
    """When the function was called with values that nothing before fits."""
    AHEAD = "ahead of time"
    """By ``torch.compile(...).aot_compile``: an object by itself, which checks its guards and raises where one
    fails."""
    AHEAD_LOADED = "ahead of time, loaded"
    """The same, read from a file."""
    PRECOMPILED = "precompiled, loaded"
    """By ``torch.compiler.precompile``, a variant of a frame, read from a file."""
    CALL_LOADED = "at call, loaded"
    """Another process compiled it when it called the function; here it is asked before torch compiles."""

    @property
    def apart(self) -> bool:
        """Whether the result is called directly.  It then raises where a guard fails, instead of compiling again."""
        return self in (Made.AHEAD, Made.AHEAD_LOADED, Made.PRECOMPILED)

    @property
    def loaded(self) -> bool:
        """Whether another process compiled it, and this one loaded it."""
        return self in (Made.AHEAD_LOADED, Made.PRECOMPILED, Made.CALL_LOADED)

    @property
    def led(self) -> str:
        """What the line of the program does that led to it: ``called at line 3``, ``compiled at line 3``."""
        return "loaded" if self.loaded else "compiled" if self is Made.AHEAD else "called"

    @property
    def words(self) -> str:
        """What the pages call such a compilation."""
        return {
            Made.CALL: "compiled",
            Made.AHEAD: "compiled ahead of time",
            Made.AHEAD_LOADED: "loaded, compiled ahead of time",
            Made.PRECOMPILED: "loaded, precompiled",
            Made.CALL_LOADED: "loaded",
        }[self]


def led_to(found: Iterable[Made]) -> str:
    """What lines of the program did that led to such compilations: ``called``; ``loaded or called`` for both."""
    return " or ".join(dict.fromkeys(made.led for made in found)) or Made.CALL.led
