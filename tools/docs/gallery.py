"""``make gallery``: record the models of ``examples/gallery_models.py`` and write ``examples/gallery``.

    python -m tools.docs.gallery [--only NAME ...] [-o FOLDER]

The same torch gives the same files; tests/torch/scripts/test_gallery_examples.py regenerates some and runs them all.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

from tools import ROOT

sys.path.insert(0, str(ROOT / "examples"))

import gallery_models
import torch

from depyf.api import prepare_debug
from depyf.gallery import write_gallery

FOLDER = ROOT / "examples" / "gallery"


def record(name: str, folder: Path) -> None:
    """Compile and run one model, forward and backward, into the dump ``folder``."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    function, arguments = gallery_models.MODELS[name]()
    compiled = torch.compile(function, backend="aot_eager", **gallery_models.OPTIONS.get(name, {}))
    inference = name in gallery_models.INFERENCE
    with prepare_debug(folder), torch.no_grad() if inference else contextlib.nullcontext():
        with contextlib.redirect_stdout(None):
            out = compiled(*arguments)
        if not inference:
            (out[0] if isinstance(out, tuple) else out).float().sum().backward()
    torch._dynamo.reset()


def make(name: str, out: Path) -> None:
    with tempfile.TemporaryDirectory() as dump:
        record(name, Path(dump))
        (gallery,) = write_gallery(dump, out / name, ROOT).values()
    if gallery.left_out:
        raise SystemExit(f"{name}: {gallery.left_out[0].reason}")


def index() -> str:
    """The page that lists all models."""
    lines = [
        "# Graphs that torch.compile makes",
        "",
        "Written by `make gallery` from `examples/gallery_models.py`. Each script needs torch only, shows a captured graph and what",
        "AOTAutograd made of it, and checks them against eager mode: `python examples/gallery/NAME/graph_....py`.",
        "",
        "| model | what is in it |",
        "|---|---|",
    ]
    for name, model in gallery_models.MODELS.items():
        lines.append(f"| [{name}]({name}/index.md) | {(model.__doc__ or '').strip()} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(gallery_models.MODELS), metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    for name in options.only:
        make(name, options.output)
        print(name)
    (options.output / "README.md").write_text(index(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
