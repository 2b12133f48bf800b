"""The file of a budget: ``[budget]`` of ``depyf.toml``, or ``[tool.depyf.budget]`` of ``pyproject.toml``.

Input: a path.  Output: a ``WrittenBudget``; BudgetError where the file cannot be read or says what makes no sense.
What is written changes the numbers alone: comments, order and all other tables stay.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.actions.checking.measures import BY_NAME
from depyf.errors import DepyfError
from depyf.safety.escape import printable

OWN_FILE = "depyf.toml"
PROJECT_FILE = "pyproject.toml"
_TABLES: Mapping[str, tuple[str, ...]] = {PROJECT_FILE: ("tool", "depyf", "budget")}
"""The table in a file of that name; in any other it is ``budget``."""
_MOST = 1 << 22


class BudgetError(DepyfError):
    """A budget that cannot be read or written."""


@dataclass(frozen=True, slots=True)
class WrittenBudget:
    """``limits``: measure -> the most that is allowed."""

    path: Path
    limits: Mapping[str, int]
    there: bool = True
    """Whether the file has a budget."""


def found_budget(named: Path | None, folder: Path) -> WrittenBudget:
    """The budget of the file ``named``; without, of ``depyf.toml`` in ``folder``, then of its ``pyproject.toml``."""
    if named is not None:
        return read_budget(named)
    budgets = [read_budget(folder / name) for name in (OWN_FILE, PROJECT_FILE)]
    return next((budget for budget in budgets if budget.there), budgets[0])


def read_budget(path: Path) -> WrittenBudget:
    """The limits in the file; none for a missing file.  BudgetError where a name is unknown or a limit is no number."""
    text = _text(path)
    if text is None:
        return WrittenBudget(path, {}, there=False)
    table = _table(_parsed(text, path), path)
    if table is None:
        return WrittenBudget(path, {}, there=False)
    for name, limit in table.items():
        if name not in BY_NAME:
            raise BudgetError(f"{_shown(path)}: there is no {printable(str(name))} to limit: {', '.join(BY_NAME)}")
        if type(limit) is not int or limit < 0:
            raise BudgetError(f"{_shown(path)}: {name} must be a number, 0 or more")
    return WrittenBudget(path, table)


def write_budget(budget: WrittenBudget, limits: Mapping[str, int]) -> None:
    """Write ``limits`` into the file of ``budget``; its other lines stay as they are.

    The new text is parsed again first: BudgetError, and nothing is written, where it says anything else than before
    besides the limits."""
    text = _text(budget.path) or ""
    names = _names(budget.path)
    new = _with_limits(text, names, limits)
    wanted = _parsed(text, budget.path)
    inner = wanted
    for name in names:
        inner = inner.setdefault(name, {})
    inner.update(limits)
    try:
        same = _parsed(new, budget.path) == wanted
    except BudgetError:
        same = False
    if not same:
        raise BudgetError(
            f"{_shown(budget.path)}: [{'.'.join(names)}] is not written as a table of lines: change it by hand"
        )
    try:
        budget.path.write_text(new, encoding="utf-8")
    except OSError as error:
        raise BudgetError(f"cannot write {_shown(budget.path)}: {error.strerror or error}") from error


def _with_limits(text: str, names: Sequence[str], limits: Mapping[str, int]) -> str:
    lines = text.split("\n")
    head = f"[{'.'.join(names)}]"
    start = next((n for n, line in enumerate(lines) if line.partition("#")[0].strip() == head), None)
    left = dict(limits)
    if start is None:
        before = text.rstrip("\n")
        new = [head, *(f"{name} = {limit}" for name, limit in left.items())]
        return f"{before}\n\n" * bool(before) + "\n".join(new) + "\n"
    end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
    last = start
    for number in range(start + 1, end):
        line = re.match(r"(\s*([\w-]+)\s*=\s*)[^#]*?(\s*(?:#.*)?)$", lines[number])
        if line is not None:
            last = number
            if line[2] in left:
                lines[number] = f"{line[1]}{left.pop(line[2])}{line[3]}"
    lines[last + 1 : last + 1] = [f"{name} = {limit}" for name, limit in left.items()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _names(path: Path) -> tuple[str, ...]:
    return _TABLES.get(path.name, ("budget",))


def _table(page: dict[str, Any], path: Path) -> dict[str, Any] | None:
    value: Any = page
    for name in _names(path):
        value = value.get(name) if isinstance(value, dict) else None
    if value is not None and not isinstance(value, dict):
        raise BudgetError(f"{_shown(path)}: {'.'.join(_names(path))} must be a table")
    return value


def _text(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            text = file.read(_MOST + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BudgetError(f"cannot read {_shown(path)}: {getattr(error, 'strerror', None) or error}") from error
    if len(text) > _MOST:
        raise BudgetError(f"{_shown(path)} is too large for a budget")
    return text


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        page = _toml().loads(text)
    except (ValueError, RecursionError) as error:
        raise BudgetError(f"{_shown(path)} is not TOML: {printable(str(error))}") from error
    return dict(page)


def _toml() -> Any:
    """The standard library's reader (Python 3.11), or the package that it comes from."""
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise BudgetError("a budget needs a reader of TOML: Python 3.11, or pip install tomli")


def _shown(path: Path) -> str:
    return printable(str(path))
