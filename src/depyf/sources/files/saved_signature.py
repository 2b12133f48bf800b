"""``inspect.Signature`` objects as they are pickled, as the text of a signature."""

from __future__ import annotations

from depyf.sources.files.inert_objects import Called, Named, fields
from depyf.sources.files.inert_text import in_short

POSITIONAL_ONLY, ORDINARY, STARRED, KEYWORD_ONLY, DOUBLE_STARRED = range(5)
_MOST = 255
_LONGEST_NAME = 200
_STARS = {STARRED: "*", DOUBLE_STARRED: "**"}


def signature_text(value: object) -> str | None:
    """``(x, n=3, *, k=2.5)``; None for what is no signature."""
    if not isinstance(value, Called) or value.name != "Signature":
        return None
    parameters = value.positional[0] if value.positional else ()
    if not isinstance(parameters, tuple):
        return None
    shown: list[str] = []
    kinds: list[int] = []
    for parameter in parameters[:_MOST]:
        if not isinstance(parameter, Called) or len(parameter.positional) != 2:
            return None
        name, kind = parameter.positional
        number = kind.positional[0] if isinstance(kind, Called) and kind.positional else None
        if (
            type(name) is not str
            or len(name) > _LONGEST_NAME
            or type(number) is not int
            or not 0 <= number <= DOUBLE_STARRED
        ):
            return None
        if number == KEYWORD_ONLY and not {KEYWORD_ONLY, STARRED} & set(kinds):
            shown.append("*")
        if number != POSITIONAL_ONLY and kinds and kinds[-1] == POSITIONAL_ONLY:
            shown.append("/")
        kinds.append(number)
        shown.append(_STARS.get(number, "") + name + _default(parameter))
    if kinds and kinds[-1] == POSITIONAL_ONLY:
        shown.append("/")
    if len(parameters) > _MOST:
        shown.append("...")
    return f"({', '.join(shown)})"


def _default(parameter: Called) -> str:
    default = fields(parameter).get("_default")
    return "" if isinstance(default, Named) and default.name == "_empty" else f"={in_short(default)}"
