"""``depyf.watch``: what torch compiled while a block of the program ran, and everything that differed.

Input: torch's reports, and at each of them the guards of the entries that the call did not fit.  Output: plain text;
the program runs as without it, and nothing of it is kept alive.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from depyf.actions.asking.differences import refusal_lines
from depyf.actions.asking.watch import Seen, Watch
from depyf.safety.escape import one_line
from depyf.safety.guarded import Door, warn
from depyf.sources.live.notebook_cells import in_cells
from depyf.views.pages.call_tree import folded_states

_LIMIT = "runs as ordinary Python: it has as many entries as torch._dynamo.config.recompile_limit allows"


class Watched:
    """The context manager of ``depyf.watch`` and its result.  ``str()`` is text, ``to_json()`` plain data."""

    def __init__(self) -> None:
        self._watch = Watch(every_guard=True)
        self._depth = 0

    def __enter__(self) -> Watched:
        with Door("depyf could not listen", warn):
            if not self._depth:
                self._watch.start()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth = max(0, self._depth - 1)
        with Door("depyf could not end listening", warn):
            if not self._depth:
                self._watch.stop()

    @property
    def compilations(self) -> tuple[Seen, ...]:
        """What was compiled so far, in the order of the compile ids."""
        return self._watch.compilations()

    def __str__(self) -> str:
        seen = self.compilations
        if not seen:
            return "nothing was compiled: each call ran a cache entry, or ordinary Python"
        again = sum(bool(one.refusals or one.recompiles) for one in seen)
        lines = [f"{_counted(len(seen), 'compilation')}, {again} of them because no cache entry fitted"]
        for group in _alike(seen):
            lines += ["  " + line for line in _lines(group)]
        return in_cells("\n".join(lines))

    def __repr__(self) -> str:
        return f"<depyf.watch: {_counted(len(self.compilations), 'compilation')}; print() shows all of it>"

    def _repr_html_(self) -> str:
        from depyf.views.pages import notebook

        return notebook.report("depyf.watch", "", notebook.element("pre", str(self)))

    def to_json(self) -> dict[str, Any]:
        """Plain data: dictionaries, lists, strings."""
        return {
            "compilations": [
                {
                    "compile_id": one.compile_id,
                    "function": one.function,
                    "place": one.place,
                    "outcome": _outcome(one),
                    "called_by": [str(caller.place) for caller in one.callers],
                    "refusals": [refusal.to_json() for refusal in one.refusals],
                }
                for one in self.compilations
            ]
        }


def _alike(seen: tuple[Seen, ...]) -> list[list[Seen]]:
    """Compilations of one function for one reason together."""
    groups: dict[Any, list[Seen]] = {}
    for one in seen:
        nearest = tuple(d.subject for d in one.refusals[0].differences) if one.refusals else ()
        groups.setdefault((one.function, one.place, _outcome(one), bool(one.refusals), nearest), []).append(one)
    return list(groups.values())


def _lines(group: list[Seen]) -> list[str]:
    first = group[0]
    ids = folded_states((one.compile_id, "") for one in group).strip()
    lines = [f"{ids}: {first.function} ({first.place}) {_outcome(first)}"]
    calls = list(dict.fromkeys(one.callers[-1].place for one in group if one.callers))
    if calls:
        text = f": {calls[0].text}" if len(calls) == 1 and calls[0].text else ""
        lines.append(f"  called at {', '.join(map(str, calls[:4]))}{' ...' if len(calls) > 4 else ''}{text}")
    lines += [f"  graph break: {item.cause or item.reason}" for item in dict.fromkeys(first.breaks) if not item.limit]
    if first.refusals and len(group) > 1:
        lines.append(f"  of {first.compile_id}, the others are alike:")
    return lines + ["  " + line for line in refusal_lines(first.refusals)]


def _outcome(one: Seen) -> str:
    if not one.started and (one.refusals or one.recompiles):
        return _LIMIT
    if one.failed:
        return f"was not compiled: {one_line(one.failed)}"
    return "was compiled again" if one.refusals or one.recompiles else "was compiled"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
