"""Self-contained scripts from dumps: each compiled graph with inputs, checking itself against eager mode.

``render_dump(folder)`` gives the scripts as text, ``write_gallery(folder, out)`` writes them with an index.
"""

from __future__ import annotations

from depyf.actions.gallery.script import Script
from depyf.actions.gallery.write import Gallery, LeftOut, render_dump, write_gallery
from depyf.actions.scripts.dumped_graphs import GalleryError

__all__ = ["Gallery", "GalleryError", "LeftOut", "Script", "render_dump", "write_gallery"]
