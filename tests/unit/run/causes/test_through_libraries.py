"""The way out where a library calls torch.compile for the program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.run.advice.registry import use
from depyf.run.causes.cause import Cause, CauseKind, Costs
from depyf.run.causes.prediction import Prediction
from depyf.run.causes.through_libraries import in_spelling
from depyf.run.causes.ways_out import WayOut
from depyf.run.places.place import Place
from depyf.run.program_calls.compile_calls import CompileCall, WrappedKind

MARK = WayOut((use("mark-dynamic", tensor="x", dimension="1"),), Prediction(3, 2))
DYNAMIC = WayOut((use("compile-dynamic"),), Prediction(3, 1))
CAUSE = Cause(CauseKind.RECOMPILES, "f", None, "", "", (), Costs(), "", ways=(MARK, DYNAMIC))
OWN = CompileCall(Place("train.py", 3), "Net", WrappedKind.MODULE)


def ways(*libraries: tuple[str, ...]) -> list[tuple[str, int | None]]:
    calls = [replace(OWN, libraries=one) for one in libraries]
    return [
        (way.uses[0].id, way.prediction.after if way.prediction else None) for way in in_spelling(CAUSE, calls).ways
    ]


@pytest.mark.parametrize(
    "libraries", [(), ((),), ((), ("accelerate",)), (("lightning",),), (("torchtune", "accelerate"),)]
)
def test_who_calls_torch_compile_itself_passes_the_options(libraries: tuple[tuple[str, ...], ...]) -> None:
    assert ways(*libraries) == [("mark-dynamic", 2), ("compile-dynamic", 1)]


def test_what_accelerate_compiles() -> None:
    assert ways(("accelerate",), ("accelerate",)) == [("mark-dynamic", 2), ("launched-dynamic", 1)]


def test_no_line_of_the_program_has_what_a_trainer_passes() -> None:
    assert ways(("accelerate", "transformers")) == [("launched-dynamic", 1)]
    text = in_spelling(CAUSE, [replace(OWN, libraries=("accelerate", "transformers"))]).ways[0].text
    assert "the Trainer of transformers" in text
