"""What torch says to those who write Dynamo is not passed on to those who use it."""

from __future__ import annotations

import functools
import logging

import pytest
from torch._dynamo import graph_break_hints

import depyf
from depyf.actions.doctor.switches import follow
from depyf.run.advice.advice import AdviceUse
from depyf.run.causes.cause import CauseKind
from depyf.run.causes.collect import causes_of
from depyf.run.causes.stack_names import stack_names
from depyf.run.store.loading import load
from depyf.sources.live.events.module_path import module_path
from depyf.sources.reports.graph_breaks import parse_break

torch = pytest.importorskip("torch")

_REPORT = """Graph break in user code at /home/me/model.py:7
Graph Break Reason: {reason}
  Explanation: {explanation}
  Hint: {hint}

User code traceback:
  File "/home/me/model.py", line 7, in f
    return given
"""


@pytest.mark.parametrize(
    ("explanation", "said"),
    [
        (
            "Dynamo does not support next() on dict_itemiterator. Add tp_iternext_impl to this VariableTracker subclass.",
            "Dynamo does not support next() on dict_itemiterator",
        ),
        (
            "Dynamo does not support len() on RangeVariable. Add len_impl to this VariableTracker subclass.",
            "Dynamo does not support len() on RangeVariable",
        ),
        (
            "The type Frac has an nb_float C slot but the corresponding VariableTracker doesn't implement nb_float_impl.",
            "Dynamo does not know float() of a Frac",
        ),
        (
            "The type Frac has a tp_repr C slot but the corresponding VariableTracker doesn't implement repr_impl.",
            "Dynamo does not know repr() of a Frac",
        ),
        (
            "UserDefinedObjectVariable does not implement richcompare_impl. Add a richcompare_impl override to it.",
            "Dynamo does not know how to compare these values",
        ),
    ],
)
def test_plain_words(explanation, said):
    report = _REPORT.format(
        reason="Missing tp_iternext", explanation=explanation, hint=graph_break_hints.SUPPORTABLE[0]
    )
    assert parse_break(report).cause == said


def rows_of(x):
    rows = []
    for i in range(x.shape[0]):
        rows.append(torch.nonzero(x[i]))
    return torch.cat([row.float() for row in rows])


def outer(x):
    return rows_of(x) * 2


def test_a_comprehension_belongs_to_the_function_around_it(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(outer, backend="eager")(torch.ones(3, 2))
    causes = causes_of(load(tmp_path))
    assert not [cause for cause in causes if "<listcomp>" in "".join((cause.function, *cause.functions, *cause.python))]
    assert any("rows_of" in cause.python for cause in causes)
    assert "VariableTracker" not in "".join(cause.text for cause in causes)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("L['self'].__dict__['_modules']['base_model'].__dict__['_modules']['h']._modules['0']", "base_model.h.0"),
        ("L['self'].__dict__['inner']._modules['fc']", "inner.fc"),
        ("G['model'].h", "model.h"),
    ],
)
def test_the_path_of_a_module(source, path):
    assert module_path(source) == path


LOG = logging.getLogger(__name__)


def logging_twice(x):
    y = x + 1
    LOG.said_before("a")
    return y * 2


def breaks_of(folder):
    torch._dynamo.reset()
    with depyf.prepare_debug(str(folder)):
        torch.compile(logging_twice, backend="eager")(torch.ones(2))
    return causes_of(load(folder))


def test_a_method_that_a_library_gives_to_loggers(tmp_path, monkeypatch):
    """As transformers does with ``warning_once``; under doctor it is not there before the program has run its imports."""
    use = AdviceUse("ignore-logging", (("function", "logging.Logger.said_before"),))
    undo = follow(use)
    try:
        said_before = functools.lru_cache(None)(lambda self, text: self.debug(text))
        monkeypatch.setattr(logging.Logger, "said_before", said_before, raising=False)
        assert breaks_of(tmp_path / "followed") == ()
    finally:
        undo()
    (cause,) = breaks_of(tmp_path / "as_it_is")
    assert cause.advice[0] == use


@torch.compiler.disable
def shown(x):
    return x + 1


def test_a_function_is_called_by_its_name(tmp_path):
    """torch shows it as Python does: ``<function shown at 0x...>``."""
    with depyf.prepare_debug(tmp_path):
        torch.compile(lambda x: shown(x * 2) * 3, backend="eager")(torch.ones(2))
    (cause,) = causes_of(load(tmp_path))
    assert "excluded from compilation" in cause.text and "<" not in cause.text
    (found,) = load(tmp_path).breaks
    assert found.record.asked == "shown"


def inner_rest(a):
    b = a + 1
    torch._dynamo.graph_break()
    return b * 2


def outer_rest(a):
    return a * inner_rest(a)


def test_what_waits_for_the_rest_of_a_called_function(tmp_path):
    """With nested graph breaks the caller's rest has the operand that waited, not what the break evaluated."""
    torch._dynamo.reset()
    with torch._dynamo.config.patch(nested_graph_breaks=True), depyf.prepare_debug(tmp_path):
        torch.compile(outer_rest, backend="eager")(torch.ones(3))
    (names,) = stack_names(load(tmp_path)).values()
    assert names == {"___stack0": "a"}


def prints_with_keyword(x):
    y = x + 1
    print("y", end="\n")
    return y * 2


def prints(x):
    y = x + 1
    print("y")
    return y * 2


@pytest.mark.parametrize(
    ("function", "ids"), [(prints, ["reorder-output", "write-outside"]), (prints_with_keyword, ["write-outside"])]
)
def test_output_that_torch_can_move(tmp_path, function, ids):
    """torch 2.13 moves the call and drops its keyword arguments, 2.15 does not move it."""
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        torch.compile(function, backend="eager")(torch.ones(3))
    (cause,) = causes_of(load(tmp_path))
    assert [one.id for one in cause.advice] == ids


def prints_number(x, n):
    y = x + 1
    print("step", n)
    return y * 2


def prints_text_of_a_number(x, n):
    y = x + 1
    print(f"step {n}")
    return y * 2


@pytest.mark.parametrize(
    ("function", "ids"),
    [(prints_number, ["write-outside"]), (prints_text_of_a_number, ["reorder-output", "write-outside"])],
)
@pytest.mark.parametrize("moved", [False, True])
def test_output_of_a_number_that_becomes_a_symbol(tmp_path, function, ids, moved, capsys):
    """torch moves the call of the first compilation, where the number is a constant, and not that of the second."""
    torch._dynamo.reset()
    functions = {print} if moved else set()
    with torch._dynamo.config.patch(reorderable_logging_functions=functions), depyf.prepare_debug(tmp_path):
        compiled = torch.compile(function, backend="eager")
        for n in range(3, 6):
            compiled(torch.ones(3), n)
    breaks = [cause for cause in causes_of(load(tmp_path)) if cause.kind is CauseKind.BREAKS]
    if moved:
        assert bool(breaks) == ("reorder-output" not in ids)
    else:
        assert [one.id for one in breaks[0].advice] == ids
