"""HTML of reports: nothing of a program becomes markup, every element is closed, and there is no script."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from depyf.views.pages import notebook


class Elements(HTMLParser):
    """Checks that elements nest; keeps their names and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == [], "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</code></div><b>", "a & b", "'\"`"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_text(text: str) -> None:
    made = notebook.report(
        text, text, notebook.line(text, kind=text), notebook.folded(text, notebook.source(text, text)),
        notebook.table((text, ""), [(notebook.code(text, title=text), notebook.dim(text))]),
        notebook.element("p", text, cls=text), chips=[notebook.chip(text, text)],
    )  # fmt: skip
    page = Elements(made)
    assert set(page.names) <= {
        "div", "style", "b", "span", "p", "details", "summary", "code", "table", "tr", "th", "td",
    }  # fmt: skip
    assert set(page.attributes) <= {"class", "title", "open"}
    assert page.text.count(text) == 11


@pytest.mark.parametrize("text", HOSTILE)
def test_code_in_a_sentence(text: str) -> None:
    page = Elements(notebook.line(notebook.prose(f"the size of `{text.replace('`', '')}` changes: {text}")))
    assert page.names == ["p", "code"] and page.text == f"the size of {text.replace('`', '')} changes: {text}"


def test_characters_that_do_not_show() -> None:
    assert "\x1b" not in notebook.line("\x1b[31m\u202e") and "\\u202e" in notebook.line("\u202e")


def test_nothing_to_fold_and_no_rows() -> None:
    assert "<details" not in notebook.folded("only this", "", notebook.Markup(""))
    assert notebook.table(("a", "b"), []) == "" == notebook.source("", "")


def test_light_and_dark() -> None:
    made = notebook.report("x", "")
    assert "prefers-color-scheme:dark" in made and "--jp-layout-color0" in made and ".vscode-dark" in made
    assert "<script" not in made and "http" not in made and "@import" not in made


def test_words_do_not_run_together_without_the_style() -> None:
    made = notebook.report(
        "f", "a.py:3",
        notebook.line(notebook.chip("way out", "good"), "torch.cond"),
        notebook.folded(notebook.joined([notebook.chip("0/1"), "1 graph"]), notebook.source("a.py:6", "if x:")),
        chips=[notebook.fact("2 graphs"), notebook.fact("1 break", "warn")],
    )  # fmt: skip
    text = Elements(
        made.replace("</p>", "\n</p>").replace("</div>", "\n</div>").replace("</summary>", "\n</summary>")
    ).text
    assert [line for line in text.splitlines() if line] == [
        "f a.py:3 2 graphs, 1 break", "way out: torch.cond", "0/1: 1 graph", "a.py:6: if x:",
    ]  # fmt: skip
