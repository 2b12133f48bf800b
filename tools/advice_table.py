"""``docs/reference/advice.md`` from the registry: ``python tools/advice_table.py > docs/reference/advice.md``."""

from __future__ import annotations

import sys

from depyf.dump.advice.registry import ADVICE

HEAD = """\
# Advice

What depyf advises in *Fix first*, `depyf.why`, `depyf.explain` and `depyf doctor`, by id. `tests/torch/test_advice.py` has a program
for each: it needs the advice, following it removes what it says, and the results stay the same. A *switch* needs no edit of what is
compiled, and `depyf doctor --try` measures it. torch's own hints are not passed on: each was read, and tried, before it came into this table.
Advice that is followed already, or that cannot apply (`mark_dynamic` for a module's parameter, a global, a value across a graph break), is not given.
`tools/advice_table.py` writes this page.
"""


def page() -> str:
    rows = ["| id | for | advice | | what changes | what it may cost |", "|---|---|---|---|---|---|"]
    for advice in ADVICE.values():
        kind = "switch" if advice.switch is not None else "edit" if advice.remedy else "nothing to do"
        cells = [f"`{advice.id}`", advice.about, advice.text, kind, advice.changes, advice.costs]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return HEAD + "\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
