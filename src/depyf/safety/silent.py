"""Whether a text shows by itself that no compiler warns of it, whatever the filters of the process are.

A tree would tell it, too (``unheard.warns``), but to make the tree, and to compile that instead of the text, takes
longer than to compile the text.  So the text is taken apart only as far as warnings depend on it: strings, brackets,
and what stands beside a bracket, an ``is`` or a ``~``.  What is not sure is not silent.

What compilers warn of: ``check_caller``, ``check_subscripter``, ``check_index``, ``check_compare`` and
``compiler_assert`` in CPython's Python/compile.c (codegen.c from 3.13 on), the folding of ``~True`` and of ``'%s' %
b''`` (ast_opt.c, flowgraph.c), and a ``finally`` that is left (ast_preprocess.c, 3.14).  What the parser warns of is
the matter of ``unheard.spelled_out``.

Each pattern begins with a letter or a set of them, and looks back afterwards: so ``re`` passes over all other text at
once.
"""

from __future__ import annotations

import re

_STRING_OR_COMMENT = re.compile(
    r"""('''[^\\']*(?:(?:\\.|'(?!''))[^\\']*)*(?:''')?|'(?!'')[^\\'\n]*(?:\\.[^\\'\n]*)*'?"""
    r'''|"""[^\\"]*(?:(?:\\.|"(?!""))[^\\"]*)*(?:""")?|"(?!"")[^\\"\n]*(?:\\.[^\\"\n]*)*"?|\#[^\n]*)''',
    re.DOTALL,
)
"""Of a string without an end as much as there is: it is no Python, and is looked at once."""
_HAS_FIELDS = re.compile(r"[fFtT][rR]?\Z|[rR][fFtT]\Z")
_IS_BYTES = re.compile(r"[bB][rR]?\Z|[rR][bB]\Z")
_PART_OF_FIELDS = re.compile(r"[^{}]+|\{\{|\}\}|\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")

_USE = r"\s*(?:[(\[]|is\b)"
_USE_HERE = r"(?:[^\S\n]*[(\[]|\s*is\b)"
_CONSTANT = r"(?:True|False|None|__debug__)\b"
_NO_CONSTANT = rf'(?!{_CONSTANT}|not\b|lambda\b)[A-Za-z_]\w*\b(?!")'
_END = r"\s*(?:[)\]},:;]|\Z|\n\s*[\w@]|(?:and|or|if|else|for|is)\b)"
_AFTER_IS = rf"\s+(?:not\s+)?(?:(?:{_CONSTANT}|\.\.\.){_END}|{_NO_CONSTANT})"
"""What begins with a name, and None, True, False and ... alone: of these no compiler warns after ``is``."""
_SUSPECTS = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf'"{_USE_HERE}',
        rf"[0-9](?<!\w.)[\w.]*{_USE_HERE}",
        rf"\.\.\.{_USE_HERE}",
        rf"True(?<!\w.{{4}})\b{_USE_HERE}",
        rf"False(?<!\w.{{5}})\b{_USE_HERE}",
        rf"None(?<!\w.{{4}})\b{_USE_HERE}",
        rf"__debug__(?<!\w.{{9}})\b{_USE_HERE}",
        rf"is(?<!\w..)\b(?!{_AFTER_IS})",
        rf"~(?!{_NO_CONSTANT})",
        r"assert(?<!\w.{6})\s*\(",
    )
]
_FORMATS = re.compile(rf'"\s*%(?![\s",0-9.%(-]*{_NO_CONSTANT})')
"""With something else than a name, or a tuple with one in it."""
_BRACKET = re.compile(r"([()\[\]{}])")
_USED = re.compile(_USE)
_LINE = re.compile(r"\n[ ]*(?:finally\b|(?=\S))|[rbc](?<!\w.)(?:eturn|reak|ontinue)\b", re.ASCII)
_KEYWORDS = (
    "and", "as", "assert", "await", "case", "del", "elif", "else", "except", "finally", "for", "from", "if", "import",
    "in", "is", "lambda", "match", "not", "or", "raise", "return", "while", "with", "yield",
)  # fmt: skip
_OF_DISPLAYS = re.compile(r",|(?<![A-Za-z_])(?:for|lambda)\b", re.ASCII)
_VARIABLE = re.compile(rf"(?<!\w)(?!(?:and|or|not|if|else|in|is)\b){_NO_CONSTANT}", re.ASCII)
_PAIR = re.compile(":(?!=)")
_INDEX = re.compile(rf"(?:-?[0-9]+|{_NO_CONSTANT}[\w.]*)\]", re.ASCII)
_KEYWORD = re.compile(rf"(?:[^\w.]|\A)(?:{'|'.join(_KEYWORDS)})\Z", re.ASCII)
"""A bracket right after one of these makes neither a call nor an item of it."""


def silent(text: str) -> bool:
    """Whether certainly no compiler of any version warns of ``text``.  It need not be Python; for text of which the
    parser warns (``unheard.spelled_out``) the answer means nothing."""
    fields: list[str] = []
    code = _without_strings(text, fields)
    if code is None or "\r" in text:
        return False
    code = "\n;".join((code, *[f"({field})" for field in fields]))
    if any(suspect.search(code) for suspect in _SUSPECTS):
        return False
    return _silent_brackets(_BRACKET.split(code), "finally" in code)


def _without_strings(text: str, fields: list[str]) -> str | None:
    """``text`` with all strings empty, and without comments; the code in strings joins ``fields``.  None: it is not
    sure."""
    parts = _STRING_OR_COMMENT.split(text)
    bare = "".join(parts[::2])
    if not bare.isascii() or "\\" in bare or "'" in bare or '"' in bare:
        return None
    has_bytes = False
    for at in range(1, len(parts), 2):
        string = parts[at]
        parts[at] = '"' if string[0] != "#" else ""
        prefix = parts[at - 1][-2:]
        if prefix[-1:].isalpha() and parts[at]:
            has_bytes = has_bytes or _IS_BYTES.search(prefix) is not None
            if _HAS_FIELDS.search(prefix) and not _fields(string, fields):
                return None
    code = "".join(parts)
    return None if has_bytes and _FORMATS.search(code) else code


def _fields(string: str, fields: list[str]) -> bool:
    at = 0
    while at < len(string):
        part = _PART_OF_FIELDS.match(string, at)
        if part is None:
            return False
        if part[1] is not None:
            code = _without_strings(part[1], fields)
            if code is None or "#" in part[1]:
                return False
            fields.append(code)
        at = part.end()
    return True


def _silent_brackets(parts: list[str], final: bool) -> bool:
    """Whether what brackets hold is used as what it may be, and no ``finally`` is left; every second part is a
    bracket."""
    opened: list[int] = []  # where each is, but 0 for that of a call or an item
    around: list[int] = []  # how far each ``finally`` around is indented
    for at in range(0, len(parts), 2):
        part = parts[at]
        if at:
            bracket = parts[at - 1]
            if bracket in "([{":
                before = parts[at - 2]
                last = before[-1:]
                if opened and last.isspace() and "\n" in before and _may_be_used(before.rstrip()):
                    return False
                if not last:
                    applied = at > 2 and parts[at - 3] in ")]"
                else:
                    applied = last.isalnum() or last == "_"
                    if applied and before.endswith(_KEYWORDS):
                        applied = _KEYWORD.search(before, max(0, len(before) - 8)) is None
                opened.append(0 if applied and bracket != "{" else at - 1)
            elif not opened:
                return False
            else:
                begin = opened.pop()
                if begin and part[:1] not in (",", ":"):
                    used = _USED.match(part + "".join(parts[at + 1 : at + 2]))
                    ends = not opened and used is not None and "\n" in used[0]
                    if used is not None and not ends and not _usable(parts[begin:at], used[0], parts[at + 2 : at + 4]):
                        return False
        if final and not opened and (around or "finally" in part) and not _silent_lines(part, around):
            return False
    return not opened


def _may_be_used(before: str) -> bool:
    """Whether a literal may stand before a bracket on the next line."""
    return before.endswith(('"', ".")) or before[-1:].isalnum() and not _KEYWORD.search(before)


def _usable(parts: list[str], use: str, after: list[str]) -> bool:
    """Whether of brackets, and what they hold, ``use`` is made without a warning; ``after`` has what follows that."""
    own, depth = [], 0
    for at, part in enumerate(parts):
        if at % 2 == 0:
            depth += 1 if part in "([{" else -1
        elif depth == 1:
            own.append(part)
    content = "()".join(own)
    if parts[0] == "[":
        return use[-1] == "[" and _INDEX.match("".join(after)) is not None
    if parts[0] == "{":  # every dictionary has items
        return use[-1] == "[" and _PAIR.search(content) is not None and "lambda" not in content
    return not _OF_DISPLAYS.search(content) and _VARIABLE.search(content) is not None


def _silent_lines(part: str, around: list[int]) -> bool:
    if "\t" in part or "\f" in part:
        return False
    for found in _LINE.finditer(part):
        line = found[0]
        if line[0] != "\n":
            if around:
                return False
            continue
        indentation = len(line) - 1 - 7 * (line[-1] == "y")
        while around and around[-1] >= indentation:
            around.pop()
        if line[-1] == "y":
            around.append(indentation)
    return True
