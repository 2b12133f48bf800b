"""A dump -> a folder of scripts with an index.

Input: the folder of a dump, or of the dumps of several ranks.  Output invariant: everything is rendered before the
first file is written, each file is written whole, scripts of an earlier run that no longer belong are removed; the
same dump gives the same files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from depyf.actions.gallery.script import Script, render
from depyf.actions.scripts.dumped_graphs import GalleryError, read_dump
from depyf.actions.scripts.input_table import CannotRender
from depyf.errors import DepyfError
from depyf.run.files.reading import MANIFEST, DumpError, is_plain, rank_folders, read_file
from depyf.run.files.writer import make_folder, write_whole
from depyf.run.recorded.recorded_inputs import read_recorded
from depyf.run.recorded.tensor_file import packed
from depyf.safety.escape import printable
from depyf.views.pages.markdown import code, message, plain

INDEX = "index.md"
_MARK = "<!-- written by depyf gallery -->"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A compiled graph without a script, and why."""

    compile_id: str
    function: str
    reason: str


@dataclass(frozen=True, slots=True)
class Gallery:
    """All scripts of a dump."""

    scripts: tuple[Script, ...]
    left_out: tuple[LeftOut, ...]
    torch: str = ""


def render_dump(
    folder: str | os.PathLike[str], root: str | os.PathLike[str] | None = None, made_up: bool = False
) -> Gallery:
    """The scripts of the dump in ``folder``, as text.

    ``root``: files below it are named relative to it (default: the current folder).  ``made_up``: also where the dump
    has recorded inputs, others are made.  Raises ``GalleryError`` where there is no dump or nothing in it.
    """
    base = os.path.realpath(root if root is not None else os.getcwd())
    graphs = read_dump(Path(folder))
    scripts: list[Script] = []
    left_out: list[LeftOut] = []
    for graph in graphs:
        try:
            given = read_recorded(Path(folder), graph.recorded) if graph.recorded and not made_up else None
            scripts.append(render(graph, base, given))
        except DumpError as error:
            raise GalleryError(str(error)) from error
        except CannotRender as error:
            left_out.append(LeftOut(graph.compile_id, graph.function, str(error)))
        except DepyfError:
            raise
        except Exception as error:  # one graph that is not understood must not cost the others
            left_out.append(LeftOut(graph.compile_id, graph.function, f"{type(error).__name__}: {error}"))
    return Gallery(tuple(scripts), tuple(left_out), graphs[0].torch)


def write_gallery(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
    made_up: bool = False,
) -> dict[str, Gallery]:
    """Write the gallery of ``folder`` to ``out``; the dumps of ranks go to ``out/rank_N``.

    Returns the galleries by subfolder ("" for a single dump).  Raises ``GalleryError``.
    """
    source, target = Path(folder), Path(out)
    ranks = {} if (source / MANIFEST).exists() else rank_folders(source)
    dumps = {path.name: path for path in ranks.values()} or {"": source}
    galleries = {name: render_dump(dump, root, made_up) for name, dump in dumps.items()}
    try:
        if source in target.parents:
            make_folder(source, target.relative_to(source))
        for name, gallery in galleries.items():
            _write(make_folder(target, Path(name)), gallery)
    except DepyfError as error:
        raise GalleryError(str(error)) from error
    except OSError as error:
        raise GalleryError(f"cannot write to {printable(str(target))}: {error.strerror or error}") from error
    return galleries


def _write(folder: Path, gallery: Gallery) -> None:
    try:
        old = _old_scripts(folder)
        for script in gallery.scripts:
            write_whole(str(folder / script.file), script.text)
            if script.beside:
                write_whole(str(folder / _beside(script.file)), packed(script.beside, {}))
            elif script.file in old:
                (folder / _beside(script.file)).unlink(missing_ok=True)
        write_whole(str(folder / INDEX), index_text(gallery))
        for name in old - {script.file for script in gallery.scripts}:
            (folder / name).unlink(missing_ok=True)
            (folder / _beside(name)).unlink(missing_ok=True)
    except OSError as error:
        raise GalleryError(f"cannot write to {printable(str(folder))}: {error.strerror or error}") from error


def _beside(name: str) -> str:
    return name.removesuffix(".py") + ".safetensors"


def _old_scripts(folder: Path) -> set[str]:
    """The scripts that depyf's index in ``folder`` lists."""
    try:
        text = read_file(folder, INDEX)
    except DumpError:
        return set()
    if _MARK not in text:
        return set()
    names = [line.partition("](")[2].partition(")")[0] for line in text.splitlines() if line.startswith("| [")]
    return {name for name in names if name.startswith("graph_") and name.endswith(".py") and is_plain(name)}


def index_text(gallery: Gallery) -> str:
    """The index of a gallery, in Markdown."""
    lines = [
        "# Compiled graphs",
        "",
        _MARK,
        "",
        (
            f"Each script holds one graph that torch.compile made (torch {gallery.torch.partition('+')[0]}), "
            "makes inputs for it, runs it, and compares"
        ),
        "eager mode, torch.compile and AOTAutograd's graphs: `python SCRIPT`, `--help` for options.",
        "",
        "| script | compile id | function | stages | inputs |",
        "|---|---|---|---|---|",
    ]  # fmt: skip
    for script in gallery.scripts:
        stages = ", ".join(stage.lower() for stage in script.stages)
        where = f"{code(script.function)} ({plain(script.place)})".replace("|", "\\|") if script.function else ""
        lines.append(f"| [{script.file}]({script.file}) | {script.compile_id} | {where} | {stages} | {script.inputs} |")
    if gallery.left_out:
        lines += ["", "Left out:", ""]
        lines += [f"- {item.compile_id} {code(item.function)}: {message(item.reason)}" for item in gallery.left_out]
    return "\n".join(lines) + "\n"
