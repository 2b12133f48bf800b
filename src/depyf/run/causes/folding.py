"""Folds lists of compile ids: ``3/1 ... 3/7`` for seven of one function.

Input: compile ids.  Output: short text, the ids in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from depyf.run.records import CompileKey


def folded_ids(keys: Iterable[CompileKey], most: int = 6) -> str:
    """``0/1 ... 0/7, 2/3``; of more than ``most`` runs the first ones, and how many more there are."""
    runs: list[list[CompileKey]] = []
    for key in sorted(set(keys), key=lambda key: key.order):
        if runs and _next(runs[-1][-1], key):
            runs[-1].append(key)
        else:
            runs.append([key])
    shown = [_run(run) for run in runs[:most]]
    left = sum(map(len, runs[most:]))
    return ", ".join(shown) + (f" and {left} more" if left else "")


def _next(before: CompileKey, after: CompileKey) -> bool:
    """Whether ``after`` is the next compilation of the same function."""
    return before.function == after.function and before.order[2][:-1] == after.order[2][:-1] and (
        before.order[2][-1] + 1 == after.order[2][-1]
    )  # fmt: skip


def _run(run: Sequence[CompileKey]) -> str:
    if len(run) <= 2:
        return ", ".join(key.label for key in run)
    return f"{run[0].label} ... {run[-1].label}"


def counted(number: int, one: str, several: str = "") -> str:
    """``1 compilation``, ``3 compilations``."""
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"


def listed(words: Sequence[str], most: int = 3) -> str:
    """``a, b and c``; of more than ``most`` the first ones, and how many more there are."""
    shown = list(dict.fromkeys(words))
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return ", ".join(shown[:-1]) + " and " + shown[-1] if len(shown) > 1 else "".join(shown)
