"""Sphinx extension of the site: what is generated from the code.

- ``{command-line} NAME``: usage and options of ``depyf NAME``, from the parser; without a name those of ``depyf``.
- ``{schema}``: the JSON schema of ``manifest.json`` as a table, also written to ``reference/manifest.schema.json``.
- ``{shell}``: a command with what it prints (``tools/docs/docs_outputs.py`` runs it); ``:from:``, ``:to:`` and ``:lines:`` show a part.
- ``{example-program} NAME``: a file of ``examples/tutorials``; ``:from:`` and ``:to:`` show a part.
- ``llms.txt``: every page with its first sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools import ROOT


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


def part_of(lines: list[str], options: dict[str, str], where: str) -> list[str]:
    """``lines`` from the first that holds ``from`` to the next that holds ``to``, at most ``lines`` of them; [...] stands for the rest."""
    first, last = 0, len(lines)
    if start := options.get("from"):
        first = next((number for number, line in enumerate(lines) if start in line), -1)
        if first < 0:
            raise ValueError(f"{where}: no line holds {start!r}")
    if end := options.get("to"):
        last = next((number + 1 for number in range(first, len(lines)) if end in lines[number]), -1)
        if last < 0:
            raise ValueError(f"{where}: no line after the first holds {end!r}")
    last = min(last, first + int(options.get("lines", "100000")))
    shown = lines[first:last]
    cut = "lines" in options or "to" in options
    return [*(["[...]"] if first else []), *shown, *(["[...]"] if cut and last < len(lines) else [])]


_PART = {"from": directives.unchanged, "to": directives.unchanged, "lines": directives.unchanged}


class ShellBlock(SphinxDirective):
    """A command, and what it printed when the documentation was made."""

    has_content = True
    option_spec: ClassVar = {
        **_PART,
        "status": directives.unchanged,
        "terminal": directives.flag,
        "again": directives.flag,
        "quiet": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        from tools.docs.docs_outputs import outputs_file, shell_of

        shell = shell_of(list(self.content))
        page = Path(self.env.doc2path(self.env.docname))
        file = outputs_file(page)
        self.env.note_dependency(str(file))
        number = self.env.temp_data["shells"] = self.env.temp_data.get("shells", -1) + 1
        stored = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
        if number >= len(stored) or stored[number]["command"] != shell.command:
            raise self.error(f"make tutorials: {shell.command!r} is not the command that was run")
        try:
            lines = part_of(stored[number]["lines"], self.options, shell.command)
        except ValueError as error:
            raise self.error(str(error)) from error
        text = "\n".join([f"$ {shell.command}", *([] if "quiet" in self.options else lines)])
        block = nodes.literal_block(text, text, language="text")
        block["classes"].append("output-of-tutorial")
        return [block]


class Program(SphinxDirective):
    """A file of ``examples/tutorials``, or a part of it."""

    required_arguments = 1
    option_spec: ClassVar = {**_PART}

    def run(self) -> list[nodes.Node]:
        file = ROOT / "examples" / "tutorials" / self.arguments[0]
        self.env.note_dependency(str(file))
        try:
            lines = part_of(file.read_text(encoding="utf-8").splitlines(), self.options, file.name)
        except (OSError, ValueError) as error:
            raise self.error(str(error)) from error
        text = "\n".join(line for line in lines if line != "[...]")
        block = nodes.literal_block(text, text, language="python")
        return [
            nodes.container(
                "", nodes.caption("", file.name), block, classes=["literal-block-wrapper"], literal_block=True
            )
        ]


def schema_type(schema: dict[str, Any]) -> str:
    """A type of the JSON schema in a few words; objects lead to their table."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#manifest-{name.replace('_', '-')})"
    if schema["type"] == "array":
        return f"list of {schema_type(schema['items'])}"
    if isinstance(schema["type"], list):
        return " or ".join(schema["type"])
    return str(schema["type"])


class Schema(SphinxDirective):
    """One table for each object of the manifest."""

    def run(self) -> list[nodes.Node]:
        from depyf.run.files.manifest_schema import json_schema

        whole = json_schema()
        text = ""
        for name, schema in {"page": whole, **whole["$defs"]}.items():
            title = "the page" if name == "page" else name.replace("_", " ")
            text += (
                f"(manifest-{name.replace('_', '-')})=\n**{title}**\n\n| field | type | what it says |\n|---|---|---|\n"
            )
            for field, found in schema["properties"].items():
                optional = "" if field in schema.get("required", ()) else " (optional)"
                text += f"| `{field}` | {schema_type(found)}{optional} | {cell(found['description'])} |\n"
            text += "\n"
        return list(self.parse_text_to_nodes(text))


def write_schema(app: Sphinx, error: Exception | None) -> None:
    from depyf.run.files.manifest_schema import json_schema
    from depyf.run.store.schema import line_schema

    if not error and app.builder.format == "html":
        place = Path(app.outdir) / "reference" / "manifest.schema.json"
        place.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
        lines = place.with_name("run.schema.json")
        lines.write_text(json.dumps(line_schema(), indent=2) + "\n", encoding="utf-8")


def first_sentences(path: Path) -> tuple[str, str]:
    """Title and first paragraph of a page."""
    text = re.sub(r"^---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"^```.*?^```\n?", "", text, flags=re.S | re.M)
    title, _, rest = text.lstrip().partition("\n")
    paragraphs = [part for part in re.split(r"\n\s*\n", rest.strip()) if not re.match(r"\||#|>|- |\[?!\[|\(", part)]
    first = " ".join(paragraphs[0].split()) if paragraphs else ""
    return title.removeprefix("# ").strip(), re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", first).rstrip(":")


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
            if page.startswith(f"{folder}/") and not page.endswith("/index"):
                name, said = first_sentences(source / f"{page}.md")
                lines.append(f"- [{name}]({base}_sources/{page}.md.txt): {said}")
        lines.append("")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    from pygments.lexers.special import TextLexer

    for step in ("lower", "regions", "containers", "lift", "structure"):  # the blocks of ARCHITECTURE.md
        app.add_lexer(f"after-{step}", TextLexer)
    app.add_directive("command-line", CommandLine)
    app.add_directive("schema", Schema)
    app.add_directive("shell", ShellBlock)
    app.add_directive("example-program", Program)
    app.connect("build-finished", write_llms)
    app.connect("build-finished", write_schema)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
