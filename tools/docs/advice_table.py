"""``docs/reference/advice.md`` from the registry: ``python -m tools.docs.advice_table > docs/reference/advice.md``."""

from __future__ import annotations

import sys
import textwrap

from depyf.run.advice.advice import Advice
from depyf.run.advice.registry import ADVICE

WIDTH = 128
HEAD = """\
# Advice

What depyf advises in *Fix first*, `depyf.why`, `depyf.explain` and `depyf doctor`, by id. `tests/torch/answers/test_advice.py` has a
program for each: it needs the advice, following it removes what it says, and the results stay the same. A *switch* needs no edit
of what is compiled, and `depyf doctor --try` measures it. torch's own hints are not passed on: each was read and tried before it
came into this list. Advice that is followed already, or that cannot apply (`mark_dynamic` for a module's parameter, a global, a
value across a graph break), is not given. `tools/docs/advice_table.py` writes this page.
"""


def page() -> str:
    return HEAD + "".join(f"\n{entry(advice)}" for advice in ADVICE.values())


def entry(advice: Advice) -> str:
    """The lines about one advice: what it is for, what it says, what it changes and what it may cost."""
    kind = "switch" if advice.switch is not None else "edit" if advice.remedy else "nothing to do"
    parts = (("advice", advice.text), ("changes", advice.changes), ("may cost", advice.costs))
    items = [
        textwrap.fill(f"{name}: {text}", WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for name, text in parts
        if text
    ]  # fmt: skip
    return "\n".join([f"**`{advice.id}`** ({kind}): {advice.about}", "", *items, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
