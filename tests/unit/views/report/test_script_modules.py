"""The modules of the page's script: packed into one scope, names are unique, and no module is left over."""

from __future__ import annotations

import re
from collections import Counter

from depyf.views.report.pack_scripts import ASSETS

MODULES = {item.name: item.read_text("utf-8") for item in sorted((ASSETS / "js").iterdir())}
TOP = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) \*?([\w$]+)", re.M)


def test_top_level_names_are_unique() -> None:
    names = Counter(name for text in MODULES.values() for name in TOP.findall(text))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name, text in MODULES.items() if not text.startswith(("// ", "/**"))] == []


def test_every_import_is_of_an_exported_name() -> None:
    """Renamed imports would not survive packing."""
    for name, text in MODULES.items():
        for names, other in re.findall(r'^import\s+\{([^}]*)\}\s+from\s+"\./([\w.-]+)";', text, re.M):
            for one in filter(None, (part.strip() for part in names.split(","))):
                assert re.search(rf"^export (?:async )?(?:function|const|let|class) \*?{re.escape(one)}\b", MODULES[other], re.M), f"{name}: {one}"  # fmt: skip
