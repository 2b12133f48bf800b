"""The text of code that a program wrote: what is bound inside an expression stays there where others wait for it."""

from __future__ import annotations

import re
import textwrap
import types

from depyf.options import Options
from depyf.pipeline import decompile_code
from depyf.promises import Promises


def text_of(body):
    module = compile("def f(x, y):\n" + textwrap.indent(body, "    "), "<test>", "exec")
    code = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    added = frozenset(name for name in code.co_varnames if name.startswith("tmp_"))
    made = decompile_code(
        code, options=Options(generated=True, temp_prefix="value_", promises=Promises(variables=added))
    )
    assert made.proven, made.source
    return made.source


def test_entries_of_a_dict_that_calls_make():
    """Each call waits for the ones before it: the last one of them must stay inside for the others to get there."""
    text = text_of(
        "tmp_1 = y.table({(tmp_2 := x(0)): y(tmp_2), x(1): x, (tmp_3 := x(2)): y(tmp_3)})\nreturn tmp_1, tmp_2, tmp_3"
    )
    assert not re.search(r"\bvalue_\d|_result\b", text), text
    assert "(tmp_3 := x(2)): y(tmp_3)" in text and "x(1): x" in text


def test_a_variable_that_nothing_waits_for_has_a_line_of_its_own():
    text = text_of("tmp_1 = y((tmp_2 := x(0)), tmp_2)\nreturn tmp_1, tmp_2")
    assert "tmp_2 = x(0)" in text and ":=" not in text
