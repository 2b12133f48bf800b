"""The script and the style of a page: a page that opens from disk can import nothing.

The script is ``assets/report.js``, which esbuild makes of the modules in ``assets/js`` and of two libraries
(``tools/env/javascript.py``; their licences are in ``assets/LICENSES.txt``).  It is kept in the repository, so that
nothing of this is needed to use depyf; ``make lint`` fails where it is not what the modules give.
"""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
"""The files that a page is made of."""
BUNDLE = "report.js"


def script() -> str:
    """The script of a page."""
    return (ASSETS / BUNDLE).read_text("utf-8")


def style() -> str:
    """The style sheets of a page, in the order of their names."""
    sheets = sorted((ASSETS / "css").glob("*.css"), key=lambda item: item.name)
    return "\n".join(item.read_text("utf-8") for item in sheets)
