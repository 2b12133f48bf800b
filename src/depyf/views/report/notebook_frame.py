"""The page of a report inside a notebook."""

from __future__ import annotations

import html
import os
from pathlib import Path


class NotebookFrame:
    """The report of one dump: the page as text, shown inline by Jupyter, VS Code and Colab."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        from depyf.views.report.report_page import render

        self.folder = Path(folder)
        self.page = render(self.folder)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to ``path``, whole or not at all; returns the path."""
        from depyf.views.report.report_page import write_page

        return write_page(self.page, Path(path))

    def __repr__(self) -> str:
        return f"<report of {self.folder}: .save(path) writes it>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="depyf report" sandbox="allow-scripts" srcdoc="{html.escape(self.page)}" '
            'style="width:100%;height:80vh;border:1px solid #8884;border-radius:6px"></iframe>'
            f"<p>The report of {html.escape(str(self.folder))}. Where it does not show: "
            "<code>.save(path)</code> writes it to a file.</p>"
        )
