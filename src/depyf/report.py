"""``depyf.report(folder)``: one HTML page of a dump, that opens offline in any browser.

A module that can be called, as ``depyf.explain`` is.  It reads what a dump holds and never imports torch; the template
and the highlighting need Jinja2 and Pygments (``pip install 'depyf[report]'``), and only when a page is made.
"""

from __future__ import annotations

import os
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from depyf.views.report.notebook_frame import NotebookFrame

__all__ = ["report"]


def report(folder: str | os.PathLike[str]) -> NotebookFrame:
    """The report of the dump in ``folder``; a notebook shows it inline, ``.save(path)`` writes it.

    DepyfError where ``folder`` is no dump, or Jinja2 or Pygments is missing.
    """
    from depyf.views.report.notebook_frame import NotebookFrame

    return NotebookFrame(folder)


class _CallableReport(types.ModuleType):
    """A module that is called like the function of its name."""

    def __call__(self, folder: str | os.PathLike[str]) -> NotebookFrame:
        return report(folder)


sys.modules[__name__].__class__ = _CallableReport
