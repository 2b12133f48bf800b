"""Sphinx extension of the site: what is generated from the code.

- ``{command-line} NAME``: usage and options of ``depyf NAME``, from the parser; without a name those of ``depyf``.
- ``{schema}``: the JSON schema of ``manifest.json`` as a table, also written to ``reference/manifest.schema.json``.
- ``{tutorial-output} NAME PART``: what part PART of ``examples/tutorials/NAME.py`` prints (``tools/docs_outputs.py`` runs it).
- ``llms.txt``: every page with its first sentence.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]


def cell(text: str) -> str:
    """``text`` in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the subcommands, by name."""
    from depyf.cli.commands import build_parser

    (actions,) = [action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(actions.choices)


def option_rows(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    """(how it is written, what it does) for each argument of ``parser``."""
    rows = []
    for action in parser._actions:
        if isinstance(action, (argparse._SubParsersAction, argparse._HelpAction)):
            continue
        value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
        value = " ".join(value) if isinstance(value, tuple) else value
        if action.choices and not action.metavar:
            value = "{" + ",".join(map(str, action.choices)) + "}"
        written = ", ".join(f"`{name} {value}`" if value else f"`{name}`" for name in action.option_strings)
        # what differs from machine to machine (the number of cores) is not a default to print
        known = {
            **vars(action),
            "prog": parser.prog,
            "default": "number of cores" if action.dest == "jobs" else action.default,
        }
        rows.append((written or f"`{value}`", (action.help or "") % known if action.help else ""))
    return rows


def usage(parser: argparse.ArgumentParser) -> str:
    """The usage line, however wide the terminal is."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "96"
    try:
        return parser.format_usage().removeprefix("usage: ").rstrip()
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


class CommandLine(SphinxDirective):
    """Usage, arguments and examples of a command."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        from depyf.cli.commands import build_parser

        name = self.arguments[0] if self.arguments else ""
        parser = commands()[name] if name else build_parser()
        text = f"```text\n{usage(parser)}\n```\n\n| argument | meaning |\n|---|---|\n"
        text += "".join(f"| {written} | {cell(said)} |\n" for written, said in option_rows(parser))
        if parser.epilog:
            text += f"\n```text\n{parser.epilog.strip()}\n```\n"
        return list(self.parse_text_to_nodes(text))


def first_sentences(path: Path) -> tuple[str, str]:
    """Title and first paragraph of a page."""
    text = re.sub(r"^---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.S)
    title, _, rest = text.lstrip().partition("\n")
    paragraphs = [part for part in re.split(r"\n\s*\n", rest.strip()) if not re.match(r"[`:|#>({-]|!\[", part)]
    first = " ".join(paragraphs[0].split()) if paragraphs else ""
    return title.removeprefix("# ").strip(), re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", first)


def write_llms(app: Sphinx, error: Exception | None) -> None:
    """``llms.txt`` (llmstxt.org): the pages, each as Markdown, with what it is about."""
    if error or app.builder.format != "html":
        return
    source, base = Path(app.srcdir), app.config.html_baseurl
    title, about = first_sentences(source / "index.md")
    lines = [f"# {title}", "", f"> {about}", ""]
    for folder, heading in (
        ("howto", "How-to"),
        ("tutorials", "Tutorials"),
        ("reference", "Reference"),
        ("explanation", "Explanation"),
    ):
        lines += [f"## {heading}", ""]
        for page in sorted(app.env.found_docs):
            if page.startswith(f"{folder}/"):
                name, said = first_sentences(source / f"{page}.md")
                lines.append(f"- [{name}]({base}_sources/{page}.md.txt): {said}")
        lines.append("")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    from pygments.lexers.special import TextLexer

    for step in ("lower", "regions", "containers", "lift", "structure"):  # the blocks of ARCHITECTURE.md
        app.add_lexer(f"after-{step}", TextLexer)
    app.add_directive("command-line", CommandLine)
    app.connect("build-finished", write_llms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
