"""HTML of a report in a notebook: the look that ``explain``, ``why``, ``compare`` and ``doctor`` share.

Input: plain text, of which everything is escaped, and ``Markup`` that this module made of it.  Output: one element with
its style, without script.  It is light or dark as the notebook is (Jupyter, VS Code, Colab), elsewhere as the system
is.  Where the style is taken away, as in a notebook that is not trusted, on GitHub and in nbviewer, it is still text,
tables and folds.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from depyf.safety.escape import printable_lines


class Markup(str):
    """HTML that is safe to insert as it stands."""

    __slots__ = ()


Part = str
"""A ``Markup``, or text that is escaped."""


def element(tag: str, *parts: Part, cls: str = "", title: str = "") -> Markup:
    """``<tag>`` around ``parts``; ``cls`` is a class of ``_STYLE``, ``title`` is shown by a pointer over it."""
    attributes = f' class="{escaped(cls)}"' if cls else ""
    attributes += f' title="{escaped(title)}"' if title else ""
    return Markup(f"<{tag}{attributes}>{joined(parts)}</{tag}>")


def escaped(text: Part) -> Markup:
    """``text`` with escapes for markup and for characters that do not show; ``Markup`` as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(printable_lines(text)))


def joined(parts: Iterable[Part], between: Part = "") -> Markup:
    return Markup(escaped(between).join(map(escaped, parts)))


def report(title: str, place: str, *parts: Part, chips: Sequence[Markup] = ()) -> Markup:
    """A whole report: its title and place in the program, facts beside them, and what follows."""
    head = element(
        "div",
        element("b", title),
        joined([" ", dim(place)]) if place else "",
        " ",
        joined(chips, _unseen(", ")),
        cls="head",
    )
    return Markup(f'<div class="depyf"><style>{_STYLE}</style>{head}{joined(parts)}</div>')


def chip(text: str, kind: str = "") -> Markup:
    """A framed label for what follows it.  ``kind``: "" or "good", "warn", "bad"."""
    return joined([fact(text, kind), _unseen(": ")])


def fact(text: str, kind: str = "") -> Markup:
    """One of several short facts in a row, each in a frame; ``kind`` as for ``chip``."""
    return element("span", text, cls=f"chip {kind}".strip())


def _unseen(text: str) -> Markup:
    """What the look says with frames and colours: read aloud, copied, and shown where styles are taken away, as in
    notebooks that are not trusted, on GitHub and in nbviewer."""
    return element("span", text, cls="unseen")


def dim(text: Part) -> Markup:
    return element("span", text, cls="dim")


def line(*parts: Part, kind: str = "") -> Markup:
    """One paragraph; ``kind`` as for ``chip``."""
    return element("p", *parts, cls=kind)


def source(place: str, code: str) -> Markup:
    """A line of the program: where it is, and its text; "" where neither is known."""
    if not place and not code:
        return Markup("")
    between = _unseen(": ") if place and code else ""
    return element("div", dim(place) if place else "", between, element("code", code) if code else "", cls="source")


def folded(summary: Part, *parts: Part, opened: bool = False) -> Markup:
    """``parts`` below a summary that opens and closes them; only the summary where there is nothing below it."""
    inside = joined(parts)
    if not inside:
        return element("div", summary, cls="flat")
    return Markup(
        f"<details{' open' if opened else ''}>{element('summary', summary)}{element('div', inside, cls='in')}</details>"
    )


def table(head: Sequence[Part], rows: Sequence[Sequence[Part]]) -> Markup:
    """Cells; "" without rows."""
    if not rows:
        return Markup("")
    top = element("tr", *(element("th", cell) for cell in head)) if any(head) else ""
    return element("table", top, *(element("tr", *(element("td", cell) for cell in row)) for row in rows))


def code(text: str, title: str = "") -> Markup:
    return element("code", text, title=title)


def prose(text: str) -> Markup:
    """A sentence; what is in backquotes in it is code."""
    parts = re.split(r"`([^`]+)`", text)
    return joined(code(part) if number % 2 else part for number, part in enumerate(parts))


_LIGHT = (
    "--fg:#1f2328;--dim:#59636e;--bg:#ffffff;--edge:#d1d9e0;--panel:#f6f8fa;"
    "--good:#1a7f37;--warn:#9a6700;--bad:#cf222e;--link:#0969da;color-scheme:light"
)
_DARK = (
    "--fg:#e6edf3;--dim:#9198a1;--bg:#16191e;--edge:#3d444d;--panel:#22272e;"
    "--good:#57c46a;--warn:#d9a62b;--bad:#ff7b72;--link:#4493f8;color-scheme:dark"
)
_STYLE = (
    f".depyf{{{_LIGHT}}}@media(prefers-color-scheme:dark){{.depyf{{{_DARK}}}}}"
    f'[data-jp-theme-light="true"] .depyf,.vscode-light .depyf,html[theme="light"] .depyf{{{_LIGHT}}}'
    f'[data-jp-theme-light="false"] .depyf,.vscode-dark .depyf,html[theme="dark"] .depyf{{{_DARK}}}'
    ".depyf{color:var(--jp-content-font-color1,var(--vscode-editor-foreground,var(--fg)));"
    "background:var(--jp-layout-color0,var(--vscode-editor-background,var(--bg)));"
    "font:13px/1.5 var(--jp-content-font-family,system-ui,sans-serif);padding:.6em .8em;max-width:75em;"
    "border:1px solid var(--edge);border-radius:6px;overflow-wrap:anywhere}"
    ".depyf .head{margin-bottom:.4em}.depyf .head>b{font-size:1.15em}"
    ".depyf .dim{color:var(--dim)}"
    ".depyf .unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:pre}"
    ".depyf p{margin:.25em 0}"
    ".depyf .good{color:var(--good)}.depyf .warn{color:var(--warn)}.depyf .bad{color:var(--bad)}"
    ".depyf .chip{display:inline-block;border:1px solid var(--edge);border-radius:1em;padding:0 .6em;"
    "margin:0 .25em .15em 0;font-size:.92em;white-space:nowrap}"
    ".depyf .chip.good,.depyf .chip.warn,.depyf .chip.bad{border-color:currentColor}"
    ".depyf code,.depyf pre{"
    "font:12px/1.5 var(--jp-code-font-family,ui-monospace,SFMono-Regular,Menlo,Consolas,monospace);"
    "color:inherit;background:var(--panel);border-radius:4px;padding:.08em .35em;white-space:pre-wrap}"
    ".depyf pre{margin:.3em 0;padding:.4em .6em}"
    ".depyf .source{margin:.2em 0;padding:.2em .6em;background:var(--panel);border-left:3px solid var(--link);"
    "border-radius:0 4px 4px 0}.depyf .source .dim{margin-right:.8em;font-size:.92em}"
    ".depyf .source code{padding:0;background:none}"
    ".depyf details{margin:.2em 0}.depyf summary{cursor:pointer}.depyf .in{margin:.1em 0 .5em .45em;padding-left:.9em;"
    "border-left:1px solid var(--edge)}.depyf .flat{margin:.2em 0 .2em 1.05em}"
    ".depyf table{border-collapse:collapse;margin:.3em 0;font-size:1em}"
    ".depyf th,.depyf td{text-align:left;vertical-align:top;padding:.15em .9em .15em 0;border:0;"
    "border-top:1px solid var(--edge);background:none;white-space:normal;max-width:45em}"
    ".depyf th{color:var(--dim);font-weight:normal;border-top:0}"
)
