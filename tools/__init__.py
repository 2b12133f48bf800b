"""Programs for people who work on depyf: ``python -m tools.FOLDER.NAME`` in the root of the repository; README.md says which is for what.

Needs nothing but Python.  What is installed goes before ``src/``: the compiled build, say.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if (_source := str(ROOT / "src")) not in sys.path:
    sys.path.append(_source)
