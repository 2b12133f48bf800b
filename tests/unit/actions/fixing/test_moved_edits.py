"""Edits of a compiled function and of all its calls, and the forms that they leave alone."""

from __future__ import annotations

import textwrap

import pytest

from depyf.actions.fixing.all_edits import EDITS
from depyf.actions.fixing.edit_case import EditCase
from depyf.run.advice.advice import AdviceUse
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord
from depyf.run.run import Run
from run_records import entry, function

PATH = "/p/m.py"
HEAD = "import torch\n"


def edited(advice, program, line, main=PATH, name_of="f", **values):
    """The program with the edit; None where it is left alone.  The cause is of ``f``, at the line with ``line`` in it."""
    text = HEAD + textwrap.dedent(program)
    lines = text.split("\n")
    at = next(number for number, one in enumerate(lines, 1) if line in one)
    begins = next(number for number, one in enumerate(lines, 1) if ("def f(" if name_of == "f" else "lambda ") in one)
    if lines[begins - 2].lstrip().startswith("@"):
        begins -= 1
    met = entry("0/0")
    code = CodeRecord(name_of, name_of, PATH, begins, (), ("x", "n"), (), None, None, ())
    known = function(name_of, f"{PATH}:{begins}", met)
    known = type(known)(known.function, code, known.entries)
    cause = Cause(CauseKind.BREAKS, "f", Place(PATH, at), "", "", (met.key,), Costs(), "why")
    case = EditCase(cause, AdviceUse(advice, tuple(values.items())), Run("", "", (known,)), {PATH: text}, main)
    new = EDITS[advice](case).get(PATH)
    return None if new is None else new.removeprefix(HEAD)


STEP = "@torch.compile\ndef f(x, n):\n    y = x * n\n    return y, y.sum().item()\n"


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [
        ("a, b = f(z, 2)\nprint(b)\n", "a, b = f(z, 2)\nb = b.item()\nprint(b)\n"),
        ("for z in r:\n    a, _ = f(z, 2)\n", "for z in r:\n    a, _ = f(z, 2)\n"),
        ("f(z, 2)\n", "f(z, 2)\n"),
        ("a = f(z, 2)\n", None),  # a[1] may be read anywhere
        ("a, *b = f(z, 2)\n", None),
        ("print(f(z, 2)[1])\n", None),
        ("a, b = f(z, 2)\ng = f\n", None),  # g may be called
        ("a, b = map(f, z)\n", None),
        ("class M:\n    def f(self):\n        pass\na, b = f(z, 2)\n", None),  # which of both?
    ],
)
def test_a_number_that_is_returned_is_read_after_the_call(calls, wanted):
    found = edited("read-after", STEP + calls, "return y")
    assert found == (None if wanted is None else STEP.replace(".item()", "") + wanted)


def test_one_number_that_is_returned():
    program = "def f(x, n):\n    return x.sum().item()\nf_c = torch.compile(f, mode='x')\nprint(f'{f_c(z, 1):.2f}')\n"
    wanted = program.replace("x.sum().item()", "x.sum()").replace("f_c(z, 1)", "f_c(z, 1).item()")
    assert edited("read-after", program, "return x") == wanted
    assert edited("read-after", program, "return x", main="/p/other.py") is None, "another file may call it, too"
    assert edited("read-after", program + "f(z, 1)\n", "return x") is None, "a call that is not compiled"
    twice = program.replace("    return x.sum", "    if n:\n        return 0.0\n    return x.sum")
    assert edited("read-after", twice, "return x") is None, "a call that returns a number"


REPORT = "@torch.compile\ndef f(x, n):\n    y = (x * n).mean()\n    {}\n    return y\n"


@pytest.mark.parametrize(
    ("report", "call", "wanted"),
    [
        ("print('y', y.item(), n)", "a = f(z, k)\n", "a = f(z, k)\nprint('y', a.item(), k)\n"),
        ("log.info(f'{y.item():.2f}')", "log = g()\na = f(z, 2)\n", "log = g()\na = f(z, 2)\nlog.info(f'{a.item():.2f}')\n"),
        ("v = y.item(); print(v)", "a = f(z, k)\n", None),
        ("print(x.sum().item())", "x = f(x, k)\n", None),  # x is another one then
        ("print(y.item(), file=sys.stderr)", "import sys\na = f(z, k)\n", "import sys\na = f(z, k)\nprint(a.item(), file=sys.stderr)\n"),
        ("print(y.item(), file=sys.stderr)", "import sys\nsys = 1\na = f(z, k)\n", None),
        ("print(y.item(), file=out)", "out = 1\na = f(z, k)\n", None),
        ("print(y.item(), step)", "step = 1\na = f(z, k)\n", None),  # so may be step
        ("print(y.item())", "a = f(z, k).sum()\n", None),
        ("print(y.item())", "f(z, k)\n", None),  # it has no name there
        ("print(n)", "f(z, g())\n", None),
        ("print(n)", "f(z, k)\n", "f(z, k)\nprint(k)\n"),
        ("print(x.sum().item())\n    print(n)", "a = f(z, k)\n", None),  # they would change places
        ("if n: print(y.item())", "a = f(z, k)\n", None),
        ("print(y.item())\n    y.mul_(2)", "a = f(z, k)\n", None),
        ("print(y.item())\n    change(y)", "a = f(z, k)\n", None),
        ("print(y.item())\n    y = y + 1", "a = f(z, k)\n", None),
        ("print(y.item())\n    if n:\n        raise ValueError", "a = f(z, k)\n", None),
        ("print(y.item())\n    if n:\n        return x", "a = f(z, k)\n", None),
        ("print(y.item())", "def h(print):\n    a = f(z, k)\n", None),
    ],
)  # fmt: skip
def test_what_is_printed_is_printed_after_the_call(report, call, wanted):
    found = edited("log-after", REPORT.format(report) + call, "print" if "print" in report else "log.")
    assert found == (None if wanted is None else REPORT.replace("    {}\n", "") + wanted)


MORE = "def f(x, n):\n    loss = x.mean()\n    {}\n    return loss * n\nf_c = torch.compile(f)\n"


@pytest.mark.parametrize(
    ("report", "call", "wanted"),
    [
        ("print(loss.item())", "a = f_c(z, k)\n", "a, loss = f_c(z, k)\nprint(loss.item())\n"),
        ("print(loss.item())", "f_c(z, k)\n", "_, loss = f_c(z, k)\nprint(loss.item())\n"),
        ("print(loss.item())", "loss = 1\na = f_c(z, k)\n", "loss = 1\na, loss_1 = f_c(z, k)\nprint(loss_1.item())\n"),
        ("v = loss.item(); print(v)", "a = f_c(z, k)\n", None),
        ("print(loss.item())", "def h(z):\n    return f_c(z, 2)\n",
         "def h(z):\n    result, loss = f_c(z, 2)\n    print(loss.item())\n    return result\n"),
        ("print(loss.item())", "a = f_c(z, k) + 1\n", None),
        ("print(loss.item())", "a, b = f_c(z, k)\n", None),
        ("print(loss.item())\n    loss.add_(1)", "a = f_c(z, k)\n", None),
        ("print(n)", "def h(z):\n    return f_c(z, 2)\n",
         "def h(z):\n    result = f_c(z, 2)\n    print(2)\n    return result\n"),
    ],
)  # fmt: skip
def test_what_is_printed_and_not_returned_is_returned_too(report, call, wanted):
    found = edited("log-after", MORE.format(report) + call, report[:5])
    returns = "return loss * n, loss" if wanted and "loss" in wanted else "return loss * n"
    moved = MORE.replace("    {}\n", "").replace("return loss * n", returns)
    assert found == (None if wanted is None else moved + wanted)


def test_what_is_returned_must_be_known_one_by_one():
    program = "def f(x, n):\n    loss = x.mean()\n    print(loss.item())\n    return *n, loss\nf_c = torch.compile(f)\na, b = f_c(z, k)\n"
    assert edited("log-after", program, "print") is None
    assert "print(b.item())" in edited("log-after", program.replace("*n", "n"), "print")


def test_what_is_moved_keeps_its_comments():
    program = REPORT.format("\n    # how it goes\n    print(y.item())  # once") + "a = f(z, k)\nb = 1\n"
    found = edited("log-after", program, "print")
    assert found.endswith("a = f(z, k)\n# how it goes\nprint(a.item())  # once\nb = 1\n"), "no empty line"


def test_a_number_with_a_name_goes_with_what_prints_it():
    program = REPORT.format("v = y.item()\n    print(v)") + "a = f(z, k)\n"
    wanted = REPORT.replace("    {}\n", "") + "a = f(z, k)\nv = a.item()\nprint(v)\n"
    assert edited("log-after", program, "v = y") == wanted
    assert edited("log-after", program + "v = 0\n", "v = y") is None, "the name has another use there"
    assert edited("log-after", program.replace("return y", "return y * v"), "v = y") is None, "it is computed with"


def test_a_number_in_a_list_of_the_script():
    program = "seen = []\n" + REPORT.format("seen.append(y.item())") + "a = f(z, k)\nprint(seen)\n"
    found = edited("store-tensor", program, "append")
    assert found is not None and "a = f(z, k)\nseen.append(a.item())\n" in found and found.count("append") == 1
    assert edited("store-tensor", program.replace("seen = []", "seen = g()"), "append") is None, "what does it do?"
    assert edited("store-tensor", program.replace("append(", "pop("), "pop") is None
    assert edited("store-tensor", program.replace("return y", "return y, seen"), "append") is None, "it is read"


CHECK = "def f(x, n):\n    '''Checks.'''\n    assert (x > 0).all(), 'sign'\n    return x * n\nf_c = torch.compile(f)\n"


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("# a call\ny = f_c(z, 2) + 1\n", "# a call\nassert (z > 0).all(), 'sign'\ny = f_c(z, 2) + 1\n"),
        ("y = f_c(g(z), 2)\n", "checked = g(z)\nassert (checked > 0).all(), 'sign'\ny = f_c(checked, 2)\n"),
        ("y = f_c(g(z), h(2))\n", None),
        ("y = g() + f_c(z, 2)\n", None),  # g() may change z
        ("y = [f_c(z, 2) for z in r]\n", None),
        ("y = f_c(*z)\n", None),
        ("while f_c(z, 2):\n    pass\n", None),
    ],
)
def test_a_check_is_made_before_the_call(call, wanted):
    found = edited("check-outside", CHECK + call, "assert")
    assert found == (None if wanted is None else CHECK.replace("    assert (x > 0).all(), 'sign'\n", "") + wanted)


def test_a_check_that_something_stands_before():
    later = CHECK.replace("    assert", "    x = x + 1\n    assert")
    assert edited("check-outside", later + "y = f_c(z, 2)\n", "assert") is None
    of_global = CHECK.replace("(x > 0).all()", "LIMIT > 0")
    assert edited("check-outside", "LIMIT = 1\n" + of_global + "y = f_c(z, 2)\n", "assert") is None


GLOBAL = "STEP = 0\ndef f(x, n):\n    return x * STEP\nf_c = torch.compile(f)\n"


@pytest.mark.parametrize(
    ("before", "after", "wanted_before", "wanted_after"),
    [
        (GLOBAL, "y = f_c(z, 2)\n", GLOBAL.replace("x, n)", "x, n, STEP)"), "y = f_c(z, 2, STEP)\n"),
        (GLOBAL, "y = f_c(z, n=2)\n", GLOBAL.replace("x, n)", "x, n, *, STEP)"), "y = f_c(z, n=2, STEP=STEP)\n"),
        (GLOBAL, "def m():\n    global STEP\n    STEP += 1\n    f_c(z, 2)\n", GLOBAL.replace("x, n)", "x, n, STEP)"),
         "def m():\n    global STEP\n    STEP += 1\n    f_c(z, 2, STEP)\n"),
        (GLOBAL, "def m(STEP):\n    f_c(z, 2)\n", None, None),  # another STEP
        (GLOBAL, "y = [f_c(z, 2) for STEP in r]\n", None, None),
        (GLOBAL.replace("x, n)", "x, n, **more)"), "f_c(z, 2)\n", None, None),
        (GLOBAL.replace("    return", "    global STEP\n    STEP += 1\n    return"), "f_c(z, 2)\n", None, None),
        (GLOBAL.replace("    return", "    up()\n    return"), "def up():\n    global STEP\n    STEP += 1\nf_c(z, 2)\n", None, None),
        (GLOBAL.replace("x * STEP", "[STEP for i in x]"), "f_c(z, 2)\n", None, None),
    ],
)  # fmt: skip
def test_a_global_is_an_argument(before, after, wanted_before, wanted_after):
    found = edited("global-as-argument", before + after, "return", name="the global STEP")
    assert found == (None if wanted_before is None else wanted_before + wanted_after)


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("f_c = torch.compile(lambda x, n: x * STEP)\nf_c(z, 2)\n", "f_c = torch.compile(lambda x, n, STEP: x * STEP)\nf_c(z, 2, STEP)\n"),
        ("torch.compile(lambda x: x * STEP)(z)\n", "torch.compile(lambda x, STEP: x * STEP)(z, STEP)\n"),
        ("f_c = torch.compile(lambda x: x * STEP)\nmap(f_c, z)\n", None),
        ("f_c = g(lambda x: x * STEP)\nf_c(z)\n", None),
        ("f_c, h = torch.compile(lambda x: x * STEP), lambda x: x\nf_c(z)\n", None),
    ],
)  # fmt: skip
def test_a_global_of_a_lambda(program, wanted):
    found = edited("global-as-argument", f"STEP = 1\n{program}", "lambda", name_of="<lambda>", name="the global STEP")
    assert found == (None if wanted is None else f"STEP = 1\n{wanted}")


def test_masks_and_modes():
    program = "def f(x, n):\n    return net(x, mask=n, **more)\n"
    assert edited("is-causal", program, "net") == program.replace("mask=n", "mask=n, is_causal=False")
    decoder = program.replace("mask=n, **more", "tgt_mask=n")
    assert edited("is-causal", decoder, "net") == decoder.replace("=n", "=n, tgt_is_causal=False")
    assert edited("is-causal", program.replace("mask=n", "mask=n, is_causal=True"), "net") is None
    assert edited("is-causal", program.replace("mask=n", "n"), "net") is None
    program = "def f(x, n):\n    with torch.inference_mode():\n        pass\n"
    assert edited("one-inference-mode", program, "with") == program.replace("inference_mode", "no_grad")
    assert edited("one-inference-mode", program.replace("mode()", "mode(n)"), "with") is None, "it may be off"
