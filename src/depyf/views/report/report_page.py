"""One HTML page of a dump: template, style, script and data in one file that asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.run.compile_stages import ORDER
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import REPORT_PAGE
from depyf.run.files.reading import DumpError
from depyf.run.files.writer import write_whole
from depyf.views.report.dump_view import SHOWN, DumpView
from depyf.views.report.links.chain_links import source_paths
from depyf.views.report.page_assets import ASSETS, script, style
from depyf.views.report.panels.all_panels import PANELS
from depyf.views.report.payload import packed, texts

TEMPLATE = "report.html.j2"


def write_report(folder: Path, output: Path, other: Path | None = None) -> Path:
    """Write the report of the dump in ``folder`` (beside ``other``, a second one) to ``output``; returns ``output``.

    DepyfError where a folder is no dump, the page cannot be written, or Jinja2 or Pygments is missing.  The file is
    there whole, or as it was.
    """
    return write_page(render(folder, other), output)


def report_in(folder: Path) -> Path:
    """Write the report of the dump in ``folder`` into it; see ``write_report``."""
    return write_report(folder, folder / REPORT_PAGE)


def render(folder: Path, other: Path | None = None) -> str:
    """The report as HTML text.  DumpError where a folder is no dump."""
    needs_libraries()
    view = DumpView(folder)
    second = DumpView(other) if other is not None else None
    chunks: dict[str, str] = {}
    panels = []
    whole = view, second
    single = lowest_rank(view), lowest_rank(second) if second is not None else None
    for panel in PANELS:
        if (data := panel.build(*(whole if panel.of_ranks else single))) is not None:
            chunks[f"panel-{panel.id}"] = packed(data)
            panels.append({"id": panel.id, "title": panel.title})
    files = []
    for rank, part in [("", view), *((f"rank_{rank}/", part) for rank, part in view.ranks.items())]:
        groups: dict[str, list[tuple[str, str]]] = {}
        for file in part.files:
            if file.name.endswith(SHOWN) and (text := part.text(file.name)) is not None:
                groups.setdefault(rank + _group(file), []).append((rank + file.name, text))
                files.append(_listed(rank, file))
        chunks.update((f"texts-{group}", packed(texts(pairs))) for group, pairs in groups.items())
    about = {
        "title": view.folder.absolute().name,
        "torch": single[0].run.torch_version,
        "python": single[0].run.python_version,
        "main": "" if single[0] is view else f"{single[0].folder.name}/",
        "panels": panels,
        "files": files,
        "stages": ORDER,
        "sources": sorted(source_paths(single[0])),
        "missing": [
            *view.missing,
            *(single[0].missing if single[0] is not view else ()),
            *(second.missing if second is not None else ()),
        ],
    }
    return _page(about, chunks)


def lowest_rank(view: DumpView) -> DumpView:
    """``view``, or the dump of the lowest rank where the folder holds only dumps of ranks."""
    return view if view.known or not view.ranks else next(iter(view.ranks.values()))


def _group(file: FileRecord) -> str:
    """The key by which texts are packed: the compile id as in file names, "page" for files of no compilation."""
    return file.key.slug if file.key is not None else "page"


def _listed(rank: str, file: FileRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"file": rank + file.name, "group": rank + _group(file)}
    if file.kind:
        found["kind"] = file.kind
    if file.stage:
        found |= {"stage": file.stage, "index": file.index}
    if file.compile_id is not None:
        found |= {"compile_id": file.compile_id, "generation": file.generation}
    return found | ({"function": file.function} if file.function else {})


def _page(about: dict[str, Any], chunks: dict[str, str]) -> str:
    from jinja2 import Environment, StrictUndefined

    code, css = script(), style()
    if "</script" in code or "</style" in css:
        raise DepyfError("the page's own script or style holds the tag that would end it")
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string((ASSETS / TEMPLATE).read_text("utf-8"))
    page: str = template.render(
        about=packed(about), title=about["title"], chunks=chunks, script=code, style=css,
        script_hash=_hash(code), style_hash=_hash(css),
    )  # fmt: skip
    return page


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def needs_libraries() -> None:
    """DepyfError where Jinja2 or Pygments is missing."""
    try:
        import jinja2  # noqa: F401
        import pygments  # noqa: F401
    except ImportError as error:
        raise DepyfError(f"the report needs {error.name}: pip install 'depyf[report]'") from None


def write_page(page: str, output: Path) -> Path:
    """Write ``page`` to ``output``, whole or not at all; returns ``output``.  DumpError where that is not possible."""
    try:
        write_whole(str(output.absolute()), page)
    except OSError as error:
        raise DumpError(f"{output} cannot be written: {error.strerror or error}") from error
    return output
