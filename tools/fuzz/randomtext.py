"""Random string literals for ``tests/property/test_random_text.py``: docstrings, and f-strings with all kinds of quotes.

    python -m tools.fuzz.randomtext --version 3.8 --count 2000 [--seed 0]

Most texts are none that a version compiles, before 3.12 above all; those are left out.  Printed is what is not proven.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections.abc import Iterator

from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify.recompiling.worker import WorkerError, worker_for
from depyf.errors import DepyfError

Version = tuple[int, int]
QUOTES = ('"', "'", '"""', "'''")
CHARACTERS = (
    *('"', "'", '"""', "'''", "\\", "\n", "\t", "\r", "\0", "\f", "{", "}", "#", "%", "a", " ", "  ", "\x01", "\x14"),
    *("\x1b", "\x7f", "\x85", "\xa0", "\u2028", "\u202e", "\ud800", "\u00e9", "\U0001f600", "\U000f0001"),
)
LITERAL = (
    *(
        "a",
        " ",
        '"',
        "'",
        "\\n",
        "\\\\",
        "\\t",
        "{{",
        "}}",
        "\n",
        "\\x00",
        '\\"',
        "\\'",
        "\\N{BULLET}",
        "\u00e9",
        "#",
        "%",
    ),
    *("\\ud800", "\t", "\f", "\x01", "!", ":", "=", '""', "''", "\\x7b", "\\x7d", "\\r"),
)
IN_FIELD = ("a", '"', "'", " ", "{", "}", "#", "\n", "\t", "\u00e9", "!", ":", "\f", "\x01", "\x14")
SPEC = (">", "10", "{x}", '"', "'", "\\n", "{x!r}", "\\x7b", '{x["a"]}', "{x['b']}", "\n", '{"}"}', "a", "%Y-%m")


def docstrings(pick: random.Random) -> list[str]:
    """A module's docstring, and definitions that begin with a string."""
    texts = [ascii("".join(pick.choice(CHARACTERS) for _ in range(pick.randint(1, 9)))) for _ in range(8)]
    return [
        f"{texts[0]}\n",
        f"class A:\n    {texts[1]}\n",
        f"class B:\n    {texts[2]}\n    def inner(self):\n        {texts[3]}\n        return {texts[4]}\n",
        f"def function():\n    {texts[5]}\n",
        f"async def later():\n    {texts[6]}\n    yield\n",
        f"value = {texts[7]}\n",
    ]


def fstring(pick: random.Random, depth: int = 2) -> str:
    """Adjacent literals, f-strings among them; perhaps no legal text."""
    return " ".join(_piece(pick, depth) for _ in range(pick.choice((1, 1, 2, 3, 5))))


def _piece(pick: random.Random, depth: int) -> str:
    quote, prefix = pick.choice(QUOTES), pick.choice(("f", "f", "f", "rf", "", "F"))
    parts = []
    for _ in range(pick.randint(0, 4)):
        is_field = "f" in prefix.lower() and pick.random() < 0.5
        parts.append(_field(pick, depth) if is_field else "".join(pick.choices(LITERAL, k=pick.randint(0, 4))))
    return prefix + quote + "".join(parts) + quote


def _field(pick: random.Random, depth: int) -> str:
    equals, conversion = pick.choice(("", "", "", "=", " = ")), pick.choice(("", "", "", "!r", "!s", "!a"))
    spec = ":" + "".join(pick.choices(SPEC, k=pick.randint(0, 3))) if pick.random() < 0.3 else ""
    return "{" + _expression(pick, depth) + equals + conversion + spec + "}"


def _expression(pick: random.Random, depth: int) -> str:
    one, two = _strings(pick), _strings(pick)
    inner = fstring(pick, depth - 1) if depth else one
    return pick.choice(
        (
            *(
                "x",
                one,
                inner,
                f"x[{one}]",
                f"x[{inner}]",
                f"x.get({one}, {two})",
                f"({one}, {two})",
                f" {{{one}: x}} ",
            ),
            *(f"(lambda y: {one})", f"{one} if x else {two}", f"[y for y in x if y != {one}]", f"x == {one}"),
            *(f"x in {{{one}, {two}}}", f"y({inner}, {one})[{two}]"),
        )
    )


def _strings(pick: random.Random) -> str:
    """A string or bytes constant, perhaps of two adjacent literals."""
    literals = []
    for _ in range(pick.choice((1, 1, 1, 2))):
        quote = pick.choice(QUOTES)
        body = "".join(pick.choices(IN_FIELD, k=pick.randint(0, 4)))
        literals.append(pick.choice(("", "", "", "b", "r")) + quote + body + quote)
    return " ".join(literals)


def legal(version: Version, texts: Iterator[str], count: int) -> list[str]:
    """The first ``count`` of ``texts`` that ``version`` compiles."""
    found: list[str] = []
    while len(found) < count:
        text = next(texts)
        try:
            worker_for(version).compile(text)
        except WorkerError:
            continue
        found.append(text)
    return found


def unproven(version: Version, text: str) -> list[str]:
    """What is wrong with the decompilation of ``text``."""
    try:
        result = decompile_unit(loads(worker_for(version).compile(text), version))  # type: ignore[arg-type]
    except DepyfError as error:
        return [str(error)]
    return [f"{verdict.qualname}: {verdict.reason}" for verdict in result.verdicts if not verdict.proven]


def all_fstrings(pick: random.Random) -> Iterator[str]:
    while True:
        yield f"value = ({fstring(pick)}\n)\n"


def all_docstrings(pick: random.Random) -> Iterator[str]:
    while True:
        yield from docstrings(pick)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="3.8")
    parser.add_argument("--count", type=int, default=500, help="of docstrings, and of f-strings")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    major, minor = options.version.split(".")
    version = int(major), int(minor)
    bad = 0
    for kind in (all_docstrings, all_fstrings):
        for text in legal(version, kind(random.Random(options.seed)), options.count):
            for reason in unproven(version, text):
                bad += 1
                print(f"{text!r}\n    {reason}")
    print(f"Python {options.version}: {2 * options.count} texts, {bad} not proven")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
