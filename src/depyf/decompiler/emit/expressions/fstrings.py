"""f-strings and t-strings, quoted so that the target's parser takes them.

From 3.12 on anything may stand between the braces; single quotes are still preferred there, for the reader.  Before, an
inner expression must not contain the quotes of any string around it, nor a backslash: the outer quotes are tried in
order of beauty until quotes are left for everything inside; where none will do, the string is cut into adjacent ones.
"""

from __future__ import annotations

import ast
import re
from itertools import takewhile

from depyf.decompiler.emit.expressions.atoms import pieces
from depyf.decompiler.emit.expressions.quoting import QUOTES, NoQuotes, fragment, raw, reach
from depyf.decompiler.emit.printer import EXPRESSIONS, TEST, Printer, prints
from depyf.decompiler.ir.expr import Const, Expr, Fmt, FStr
from depyf.decompiler.ir.percent_format import percent, was_percent
from depyf.safety.depth import any_depth
from depyf.safety.unheard import parse

_LONGEST = 200
_BEFORE = " \n\t([<,;:|"
"""What stands in front of a word that is by itself."""


@prints(FStr)
def fstring(p: Printer, node: FStr, level: int) -> str:
    prefix = "t" if node.template else "f"
    whole = _quoted(p, node.parts, prefix)
    if p.wide and len(whole) > 40:
        lines = _lines(node.parts)
        if len(lines) > 1:
            return pieces(p, whole, [_quoted(p, line, prefix) for line in lines])
    return whole


def _lines(parts: tuple[str | Fmt, ...]) -> list[tuple[str | Fmt, ...]]:
    """The parts, split after every line break."""
    lines: list[list[str | Fmt]] = [[]]
    for part in parts:
        if isinstance(part, Fmt):
            lines[-1].append(part)
            continue
        for index, line in enumerate(part.splitlines(True)):
            if index:
                lines.append([])
            lines[-1].append(line)
        if part.endswith("\n"):
            lines.append([])
    return [tuple(line) for line in lines if line]


@prints(Fmt)
@any_depth
def field(p: Printer, node: Fmt, level: int) -> str:
    if node.percent and was_percent((node,)):
        return p.expr(percent((node,)), level)
    return _quoted(p, (node,), "f")


def _quoted(p: Printer, parts: tuple[str | Fmt, ...], prefix: str) -> str:
    state = p.wide, p.operator, p.quote, p.quotes
    p.wide, p.operator = False, " "  # a line break between braces is a novelty of 3.12
    try:
        if p.grammar.nested_quotes:
            quote = "'" if _prefers_single(parts) and p.quote == '"' else p.quote
            p.quote = "'" if quote == '"' else '"'
            return prefix + quote + _parts(p, parts, quote) + quote
        return _with_any_quotes(p, parts, prefix)
    finally:
        p.wide, p.operator, p.quote, p.quotes = state


def _with_any_quotes(p: Printer, parts: tuple[str | Fmt, ...], prefix: str) -> str:
    """Before 3.12."""
    allowed, resort = p.quotes, p.last_resort
    candidates = QUOTES if allowed is None else allowed
    if _prefers_single(parts):
        candidates = tuple(sorted(candidates, key=lambda quote: (len(quote), quote[0] == '"')))
    try:
        for p.last_resort in (False, True) if allowed is None else (resort,):
            for quote in candidates:
                text = _inside(p, parts, quote, candidates)
                if text is not None:
                    return prefix + quote + text + quote
            pieces = _in_pieces(p, parts, prefix, candidates)
            if pieces is not None:
                return pieces
    finally:
        p.last_resort = resort
    if allowed is None:
        raise p.fail("f-strings are nested more deeply than the target's quotes allow")
    raise NoQuotes


def _inside(p: Printer, parts: tuple[str | Fmt, ...], quote: str, candidates: tuple[str, ...]) -> str | None:
    """The text between two ``quote``; None where these quotes cannot be used."""
    quotes, outer, resort = p.quotes, p.outer, p.last_resort
    p.quotes = tuple(other for other in candidates if not _clash(quote, other))
    p.outer = (*outer, quote)
    try:
        text = _parts(p, parts, quote)
    except NoQuotes:
        return None
    finally:
        p.quotes, p.outer, p.last_resort = quotes, outer, resort
    return None if any(other in text for other in outer) else text


_PIECES = re.compile("\"+|'+|\n+|[^\"'\n]+")


def _in_pieces(p: Printer, parts: tuple[str | Fmt, ...], prefix: str, candidates: tuple[str, ...]) -> str | None:
    """Adjacent literals with separate quotes, which the compiler joins; None where no quotes are left for a part."""
    atoms = [atom for part in parts for atom in ([part] if isinstance(part, Fmt) else _PIECES.findall(part))]
    shown = {quote: [_inside(p, (atom,), quote, candidates) for atom in atoms] for quote in candidates}
    pieces: list[str] = []
    at = 0
    while at < len(atoms):
        runs = {quote: sum(1 for _ in takewhile(_is_text, shown[quote][at:])) for quote in candidates}
        quote = max(runs, key=lambda other: runs[other], default="")
        if not quote or not runs[quote]:
            return None
        end = at + runs[quote]
        pieces.append(prefix + quote + "".join(filter(None, shown[quote][at:end])) + quote)
        at = end
    text = " ".join(pieces)
    return None if any(other in text for other in p.outer) else text


def _is_text(text: str | None) -> bool:
    return text is not None


def _prefers_single(parts: tuple[str | Fmt, ...]) -> bool:
    text = "".join([part if isinstance(part, str) else _literal_spec(part) for part in parts])
    return '"' in text and "'" not in text


def _literal_spec(part: Fmt) -> str:
    return part.spec.value if isinstance(part.spec, Const) and isinstance(part.spec.value, str) else ""


def _clash(outer: str, inner: str) -> bool:
    """Whether ``inner`` quotes would end a string in ``outer`` quotes."""
    return outer == inner or outer == inner[0]


def _parts(p: Printer, parts: tuple[str | Fmt, ...], quote: str) -> str:
    out = []
    said = ""
    for part, following in zip(parts, (*parts[1:], "")):
        if isinstance(part, str):
            said = _said(p, part, following, quote) if isinstance(following, Fmt) else ""
            rest = part[: len(part) - len(said)]
            out.append(_fragment(p, rest, quote).replace("{", "{{").replace("}", "}}"))
        else:
            out.append(f"{{{said}}}" if said else _field(p, part, quote))
            said = ""
    return "".join(out)


def _said(p: Printer, before: str, node: Fmt, quote: str) -> str:
    """The end of ``before`` that is the text of the value after it and a ``=``: ``a = `` in front of ``{a!r}`` is ``{a
    = }``."""
    if node.conversion != "r" or node.spec is not None or node.text is not None:
        return ""
    tail = before.rstrip(" ")
    if tail[-1:] != "=":
        return ""
    tail = tail[:-1].rstrip(" ")
    text = _written(tail, _value(p, node.value))
    if p.quotes is not None and (quote in text or "\\" in text):
        return ""
    return text and text + before[len(tail) :]


def _written(tail: str, text: str) -> str:
    """The end of ``tail`` that is the same expression as ``text``, but for spaces and quotes, and stands by itself."""
    if len(text) > _LONGEST or text[0] in "{ " or "\n" in text:
        return ""
    at = len(tail)
    for char in reversed(text.replace(" ", "")):
        while at and tail[at - 1] == " ":
            at -= 1
        if not at or tail[at - 1] != char and not {tail[at - 1], char} <= {"'", '"'}:
            return ""
        at -= 1
    found = tail[at:]
    if at and tail[at - 1] not in _BEFORE:
        return ""
    return found if found == text or _same(found, text) else ""


def _same(one: str, other: str) -> bool:
    try:
        return ast.dump(parse(one, "eval")) == ast.dump(parse(other, "eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _fragment(p: Printer, value: str, quote: str) -> str:
    """Literal text in ``quote``; inside another f-string it has no backslash (before 3.12)."""
    if len(p.outer) < 2:
        return fragment(value, quote)
    shown = raw(value)
    if shown is None or reach(shown, 0, quote, p.outer[:-1]) < len(shown):
        raise NoQuotes
    return shown


def _field(p: Printer, node: Fmt, quote: str) -> str:
    text = _value(p, node.value)
    if node.text is not None:
        text = node.text  # as it was written; the names in it have been seen above
    else:
        text = (" " if text[0] == "{" else "") + text + (" " if text[-1] == "}" else "")
    if p.quotes is not None and (quote in text or "\\" in text):
        raise NoQuotes
    conversion = f"!{node.conversion}" if node.conversion else ""
    spec = "" if node.spec is None else ":" + _spec(p, node.spec, quote)
    return f"{{{text}{conversion}{spec}}}"


def _value(p: Printer, node: Expr) -> str:
    text = EXPRESSIONS[type(node)](p, node, TEST)
    # A lambda's colon would start the format spec.
    return f"({text})" if text.startswith("lambda") or " lambda" in text else text


def _spec(p: Printer, node: Expr, quote: str) -> str:
    """A format spec is the inside of an f-string again, except that braces cannot be doubled in it."""
    if isinstance(node, FStr):
        parts = node.parts
    elif isinstance(node, Const) and type(node.value) is str:
        parts = (node.value,)
    else:
        return _field(p, node if isinstance(node, Fmt) else Fmt(node, "", None), quote)
    out = []
    for part in parts:
        if isinstance(part, Fmt):
            out.append(_field(p, part, quote))
            continue
        for index, piece in enumerate(_split_braces(part)):
            out.append(_field(p, Fmt(Const(piece), "", None), quote) if index % 2 else _fragment(p, piece, quote))
    return "".join(out)


def _split_braces(text: str) -> list[str]:
    """Pieces of ``text``, those with odd index being single braces."""
    out = [""]
    for char in text:
        if char in "{}":
            out += [char, ""]
        else:
            out[-1] += char
    return out
