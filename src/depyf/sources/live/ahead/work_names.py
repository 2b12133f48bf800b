"""The names that a recording gives to work for which torch has no compile id: ``loaded0/0``, ``aoti1/0``.

Input: a number that tells the work from other work as long as it lasts.  Output: a text of the form of a compile id.
"""

from __future__ import annotations


class WorkNames:
    """Compile ids for compilations to which torch gives none, numbered by prefix."""

    def __init__(self) -> None:
        self._names: list[tuple[int, str]] = []
        """Which work it was (0: it has ended), and its name."""

    def name(self, work: int, prefix: str) -> str:
        """The compile id of ``work`` (an ``id()``), beginning with ``prefix``; made at the first call."""
        known = dict(self._names)
        if work not in known:
            known[work] = f"{prefix}{sum(name.startswith(prefix) for _, name in self._names)}/0"
            self._names.append((work, known[work]))
        return known[work]

    def let_go(self, work: int) -> None:
        """Forget ``work``, which has ended: its ``id()`` may be used again."""
        self._names = [(0 if known == work else known, name) for known, name in self._names]
