"""Each edit on texts: what it makes of the form that has one meaning, and that it leaves other forms alone."""

from __future__ import annotations

import textwrap

import pytest

from depyf.actions.fixing.all_edits import EDITS, patches, unified
from depyf.actions.fixing.edit_case import EditCase
from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import ADVICE
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.causes.ways_out import WayOut
from depyf.run.places.place import Place
from depyf.run.program_calls.compile_calls import CompileCall, WrappedKind
from depyf.run.records import CallerRecord, CodeRecord
from depyf.run.run import Run
from run_records import entry, function

PATH = "/p/m.py"
HEAD = "import torch\n\n\n"


def edited(advice, program, line="", call="", compiled="", made=1, **values):
    """The program with the edit; None where it is left alone.  The cause is at the line with ``line`` in it, the call of
    the function ``f(x, n)`` at that with ``call``, that of torch.compile at that with ``compiled``."""
    text = HEAD + textwrap.dedent(program)
    lines = text.split("\n")

    def place(part):
        return Place(PATH, next(n for n, one in enumerate(lines, 1) if part in one)) if part else None

    callers = (CallerRecord(place(call)),) if call else ()
    met = entry("0/0", callers=callers)
    code = CodeRecord("f", "f", PATH, 4, (), ("x", "n"), (), None, None, ())
    known = function("f", f"{PATH}:4", met)
    known = type(known)(known.function, code, known.entries)
    calls = (CompileCall(place(compiled), "f", WrappedKind.FUNCTION, made),) if compiled else ()
    cause = Cause(CauseKind.BREAKS, "f", place(line), "", "", (met.key,), Costs(), "why")
    case = EditCase(
        cause, AdviceUse(advice, tuple(values.items())), Run("", "", (known,), compile_calls=calls), {PATH: text}, PATH
    )
    new = EDITS[advice](case).get(PATH)
    return None if new is None else new.removeprefix(HEAD)


def test_a_setting_stands_after_the_imports():
    text = edited("capture-scalars", "def f(x):\n    return x\n")
    setting = "import torch\n\ntorch._dynamo.config.capture_scalar_outputs = True\n"
    assert text == f"{setting}\n\ndef f(x):\n    return x\n", "one empty line above, those of the program below"
    assert "recompile_limit = 12" in edited("raise-limit", "x = 1\n", limit="12")
    assert "reorderable_logging_functions.add(print)" in edited("reorder-output", "x = 1\n", function="print")
    assert edited("reorder-output", "x = 1\n", function="my.log") is None, "what its name means is not known"


COMPILED = [
    ("f_c = torch.compile(f)\n", "f_c = torch.compile(f, dynamic=True)\n"),
    ("f_c = torch.compile(\n    f,\n    mode='x',  # why\n)\n", "f_c = torch.compile(\n    f,\n    mode='x',  # why\n    dynamic=True,\n)\n"),
    ("f_c = torch.compile(\n    f  # it\n)\n", "f_c = torch.compile(\n    f,  # it\n    dynamic=True\n)\n"),
    ("f_c = torch.compile(f, **more)\n", 'f_c = torch.compile(f, **{"dynamic": True, **more})\n'),
    ("@torch.compile\ndef f(x):\n    return x\n", "@torch.compile(dynamic=True)\ndef f(x):\n    return x\n"),
    ("@torch.compile(backend='eager')\ndef f(x):\n    return x\n", "@torch.compile(backend='eager', dynamic=True)\ndef f(x):\n    return x\n"),
    ("f_c = torch.compile(f, dynamic=False)\n", None),
    ("f_c = torch.compile(f); g_c = torch.compile(g)\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("program", "wanted"), COMPILED)
def test_dynamic_in_the_call_of_compile(program, wanted):
    found = edited("compile-dynamic", program, compiled="torch.compile")
    assert wanted is None and found is None or (found or "").split("#")[0].split() == wanted.split("#")[0].split()


def test_without_dynamic_false():
    assert (
        edited("no-static", "f_c = torch.compile(f, dynamic=False)\n", compiled="compile") == "f_c = torch.compile(f)\n"
    )
    assert edited("no-static", "f_c = torch.compile(f)\n", compiled="compile") is None
    short = "def c(f, **options):\n    return torch.compile(f, **options)\nf_c = c(f, dynamic=False)\n"
    assert edited("no-static", short, compiled="torch.compile") == short.replace(", dynamic=False", "")
    twice = f"{short}g_c = c(g, dynamic=False)\n"
    assert edited("no-static", twice, compiled="torch.compile") is None, "which of both?"


MARKED = [
    ("for x in data:\n    # a call\n    y = f_c(x, 2)\n", "for x in data:\n    # a call\n    torch._dynamo.mark_dynamic(x, 0)\n    y = f_c(x, 2)\n"),
    ("y = f_c(torch.ones(3), 2)\n", "marked_x = torch.ones(3)\ntorch._dynamo.mark_dynamic(marked_x, 0)\ny = f_c(marked_x, 2)\n"),
    ("y = g(z(), f_c(n=2, x=a))\n", None),
    ("y = [f_c(x, 2) for x in data]\n", None),
    ("y = f_c(*data)\n", None),
    ("if f_c(x, 2):\n    pass\n", None),
    ("y = f_c(x, 2) + f_c(a, 3)\n", None),
    ("y = g(z()) + f_c(torch.ones(3), 2)\n", None),
    ("y = z and f_c(torch.ones(3), 2)\n", None),
    ("f_c = torch.compile(f)\nout.append(f_c(x, 2).sum())\n", "f_c = torch.compile(f)\ntorch._dynamo.mark_dynamic(x, 0)\nout.append(f_c(x, 2).sum())\n"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "wanted"), MARKED)
def test_marks_before_the_call(program, wanted):
    assert edited("mark-dynamic", program, call="f_c(", tensor="x", dimension="0") == wanted


def test_arguments_in_another_form():
    assert edited("contiguous", "y = f_c(a.t(), 2)\n", call="f_c", tensor="x") == "y = f_c(a.t().contiguous(), 2)\n"
    assert edited("contiguous", "y = f_c(a + b, 2)\n", call="f_c", tensor="x") == "y = f_c((a + b).contiguous(), 2)\n"
    assert edited("number-as-tensor", "f_c(a, k / 2)\n", call="f_c", name="n") == "f_c(a, torch.tensor(k / 2))\n"


def test_two_calls_in_one_line():
    two = "y = [f_c(a, 1), f_c(b.t(), 2)]\n"
    assert (
        edited("contiguous", two, call="f_c", tensor="x")
        == "y = [f_c(a.contiguous(), 1), f_c(b.t().contiguous(), 2)]\n"
    )
    assert edited("contiguous", two.replace("f_c(a", "g(a"), call="f_c", tensor="x") is None, (
        "which of both is compiled?"
    )


ONCE = [
    ("for i in r:\n    g = torch.compile(f)\n    g(i)\n", "g = torch.compile(f)\nfor i in r:\n    g(i)\n"),
    ("# all\nwhile r():\n    # one\n    g = torch.compile(f, mode=m)\n    g(1)\n", "# all\n# one\ng = torch.compile(f, mode=m)\nwhile r():\n    g(1)\n"),
    ("for f in r:\n    g = torch.compile(f)\n    g(1)\n", None),
    ("for i in r:\n    f = h(i)\n    g = torch.compile(f)\n    g(1)\n", None),
    ("for i in r:\n    g = torch.compile(h(i))\n    g(1)\n", None),
    ("for i in r:\n    g = torch.compile(f)\n    g = g(1)\n", None),
    ("for i in r:\n    if i:\n        g = torch.compile(f)\n    g(1)\n", None),
    ("for i in r:\n    def f(x):\n        return i\n    g = torch.compile(f)\n    g(1)\n", None),
    ("for i in r:\n    import f\n    g = torch.compile(f.g)\n    g(1)\n", None),
    ("for i in r:\n    with a as f:\n        pass\n    g = torch.compile(f)\n    g(1)\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("program", "wanted"), ONCE)
def test_compiled_once_before_the_loop(program, wanted):
    assert edited("compile-once", program, compiled="torch.compile", made=2) == wanted


def test_statements_that_nothing_needs():
    program = "def f(x):\n    x.sum().item()\n    return x\n"
    assert edited("unused-number", program, line="item") == "def f(x):\n    return x\n"
    assert edited("unused-number", program.replace("x.sum()", "x.add_(1)"), line="item") is None, "it does something"
    program = "def f(x):\n    if x is None:\n        torch._dynamo.graph_break()\n    return x\n"
    assert edited("no-graph-break", program, line="graph_break") == program.replace(
        "torch._dynamo.graph_break()", "pass"
    )
    assert edited("no-graph-break", "def f(x):\n    y = g(x)\n", line="g(x)") is None


def test_a_number_stays_a_tensor():
    program = "def f(x):\n    return x * x.sum().item()\n"
    assert edited("keep-tensor", program, line="item") == program.replace(".item()", ".detach()")
    for kept in ("x[0]", "self.sum(x)", "net.norm(x)", "x.max()"):
        text = f"def f(self, x):\n    return x * {kept}.item()\n"
        assert edited("keep-tensor", text, line="item") == text.replace(".item()", ".detach().clone()"), kept
    for new in ("torch.norm(x)", "(x == 1).sum()", "x[0].mean(dim=0)"):
        text = f"def f(x):\n    return x * {new}.item()\n"
        assert edited("keep-tensor", text, line="item") == text.replace(".item()", ".detach()"), new
    assert edited("keep-tensor", "def f(x):\n    return f'{x.item()}'\n", line="item") is None
    assert edited("keep-tensor", "def f(x):\n    return x.item() + x.sum().item()\n", line="item") is None, (
        "which of both?"
    )


BRANCHES = [
    ("    if x.sum() > 0:\n        y = x * 2\n    else:\n        y = -x\n    return y\n", "    y = torch.where(x.sum() > 0, x * 2, -x)\n    return y\n"),
    ("    if x.sum().item() > 0:\n        return x.sin()\n    return x.cos()\n", "    return torch.where(x.sum() > 0, x.sin(), x.cos())\n"),
    ("    y = x.tanh()\n    # above\n    if x.sum() > 0:  # beside\n        y = y * 2\n    return y\n",
     "    y = x.tanh()\n    # above\n    # beside\n    y = torch.where(x.sum() > 0, y * 2, y)\n    return y\n"),
    ("    y = x\n    if x.sum() > 0:\n        y = y * 2\n    return y\n", None),  # y may be changed in place later, and is x
    ("    y = x.tanh()\n    z = y\n    if x.sum() > 0:\n        y = y * 2\n    return y\n", None),  # the same of z
    ("    if x.sum() > 0:\n        return x * 2\n    return x\n", None),  # what is returned is x itself
    ("    if x.sum() > 0:\n        return x.log()\n    return -x\n", None),  # its derivative at 0 times 0 is no number
    ("    if x.sum() > 0:\n        return x / n\n    return -x\n", None),
    ("    if x.sum() > 0:\n        return x.sum()\n    return x.sin()\n", None),  # of another shape
    ("    if x.sum() > 0:\n        return x * n\n    return x * 2\n", None),  # n may have another shape
    ("    if x.sum() > 0:\n        return x * 2\n    return x * 0.5\n", None),  # of another dtype, where x has integers
    ("    if x.sum() > 0:\n        y = x.add_(1)\n    else:\n        y = x\n    return y\n", None),
    ("    if x.sum() > 0:\n        y = log(x)\n    else:\n        y = x\n    return y\n", None),
    ("    if x.sum() > 0:\n        y = x[0]\n    else:\n        y = x\n    return y\n", None),
    ("    if x.sum() > 0:\n        y = x\n    return y\n", None),
    ("    if x.sum() > 0:\n        y = x\n    else:\n        z = x\n    return y\n", None),
    ("    if x.sum() > 0:\n        return x\n    x = x + 1\n    return x\n", None),
    ("    if x.sum() > 0 and n:\n        y = x\n    else:\n        y = -x\n    return y\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "wanted"), BRANCHES)
def test_both_ways_of_a_branch(body, wanted):
    found = edited("branchless", "def f(x, n):\n" + body, line="if x.sum()")
    assert found == (None if wanted is None else "def f(x, n):\n" + wanted)


MODULE = "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.calls = 0  # so far\n\n    def forward(self, x):\n        self.calls += 1\n        return x + self.calls\n"


def test_a_number_of_a_module_is_a_buffer():
    found = edited("tensor-in-module", MODULE, line="return x +", name="self.calls")
    buffer = 'self.register_buffer("calls", torch.tensor(0), persistent=False)  # so far'
    assert found == MODULE.replace("self.calls = 0  # so far", buffer)
    assert edited("tensor-in-module", MODULE.replace("= 0 ", "= n "), line="return x +", name="self.calls") is None
    twice = MODULE.replace("        self.calls = 0  # so far\n", "        self.calls = 0\n        self.calls = 1\n")
    assert edited("tensor-in-module", twice, line="return x +", name="self.calls") is None


def test_a_learning_rate_is_a_tensor():
    program = "opt = torch.optim.SGD(p, lr=0.1)\n"
    assert edited("tensor-learning-rate", program) == "opt = torch.optim.SGD(p, lr=torch.tensor(0.1))\n"
    assert edited("tensor-learning-rate", program * 2) is None, "which of both?"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("opt.param_groups[0]['lr'] = 0.1 / n", "opt.param_groups[0]['lr'].fill_(0.1 / n)"),
        ("for group in opt.param_groups:\n    group['lr'] = n", "for group in opt.param_groups:\n    group['lr'].fill_(n)"),
        ("for i, g in enumerate(opt.param_groups): g['lr'] = n", "for i, g in enumerate(opt.param_groups): g['lr'].fill_(n)"),
        ("for group in groups:\n    group['lr'] = n", None),
        ("opt.param_groups[0]['eps'] = 0.1", None),
        ("opt.param_groups[0]['lr'] *= 0.5", None),  # in place as it is
    ],
)  # fmt: skip
def test_a_later_learning_rate_is_written_into_the_tensor(line, wanted):
    program = "opt = torch.optim.SGD(p, lr=0.1)\n"
    found = edited("tensor-learning-rate", f"{program}{line}\n")
    assert found == f"{program.replace('0.1', 'torch.tensor(0.1)')}{wanted or line}\n"


def test_marks_and_decorators_that_go():
    assert (
        edited("maybe-mark-dynamic", "torch._dynamo.mark_dynamic(x, 0)\n") == "torch._dynamo.maybe_mark_dynamic(x, 0)\n"
    )
    program = "@torch.compiler.disable\ndef g(x):\n    return x\n"
    assert edited("no-disable", program, function="m.g") == program.partition("\n")[2]
    assert edited("no-disable", program, function="m.h") is None


def test_what_is_no_edit_is_left_out_of_a_way():
    """A way with advice that has no single meaning is no patch, nor is one in a file that is not of the program."""
    text = HEAD + "f_c = torch.compile(f)\n"
    call = CompileCall(Place(PATH, 4), "f", WrappedKind.FUNCTION)
    run = Run("", "", (function("f", f"{PATH}:9", entry()),), compile_calls=(call,))
    dynamic, other = AdviceUse("compile-dynamic"), AdviceUse("one-dtype", (("tensor", "x"),))

    def found(*ways, texts=None):
        cause = Cause(CauseKind.RECOMPILES, "f", None, "", "", (), Costs(), "why", ways=tuple(map(WayOut, ways)))
        return list(patches((cause,), run, {PATH: text} if texts is None else texts, PATH))

    assert [dict(patch.after) for patch in found((dynamic,))] == [{PATH: text.replace("(f)", "(f, dynamic=True)")}]
    assert found((dynamic, other)) == found((other,)) == found((dynamic,), texts={}) == []


def test_one_option_for_several_values_is_set_once():
    text = HEAD + "f_c = torch.compile(f)\n"
    uses = tuple(AdviceUse("unspecialised-int", (("name", name),)) for name in ("self.a", "self.b"))
    cause = Cause(CauseKind.RECOMPILES, "f", Place(PATH, 4), "", "", (), Costs(), "why", ways=(WayOut(uses),))
    (patch,) = patches((cause,), Run("", ""), {PATH: text}, PATH)
    (after,) = dict(patch.after).values()
    assert after.count("allow_unspec_int_on_nn_module = True") == 1
    assert not list(patches((cause,), Run("", ""), {PATH: after}, PATH)), "it is set already"


def test_every_edit_is_of_an_advice_that_keeps_results():
    for id in EDITS:
        assert ADVICE[id].remedy and not ADVICE[id].changes_results, id


def test_a_patch_without_a_newline_at_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "m.py")
    assert unified(((path, "a\nb"),), {path: "a\nc"}) == (
        "--- m.py\n+++ m.py\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )
