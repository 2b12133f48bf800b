"""Self-contained scripts from dumps: each compiled graph with inputs, checking itself against eager mode.

``render_dump(folder)`` gives the scripts as text, ``write_gallery(folder, out)`` writes them with an index.  Nothing
here imports torch; the scripts need torch and nothing else.
"""

from __future__ import annotations

from depyf.gallery.dump import GalleryError
from depyf.gallery.script import Script
from depyf.gallery.write import Gallery, LeftOut, render_dump, write_gallery

__all__ = ["Gallery", "GalleryError", "LeftOut", "Script", "render_dump", "write_gallery"]
