"""What is written in Dynamo's place for breaks in every kind of statement: proven, and with nothing left over."""

from __future__ import annotations

import contextlib
import io
import warnings

import pytest
import torch
from frame_shapes import CALLS

from depyf.dynamo.generated import generated_options
from depyf.pipeline import decompile_code
from dynamo_readability import leftovers


@pytest.mark.parametrize("name", CALLS)
def test_frames_are_proven_and_readable(name):
    torch._dynamo.reset()
    seen = []
    handle = torch._dynamo.convert_frame.register_bytecode_hook(lambda code, new: seen.append((code, new)))
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2):
                CALLS[name](lambda fn: torch.compile(fn, backend="eager"))
    except Exception as error:  # nothing of depyf runs here
        pytest.skip(f"torch {torch.__version__} itself cannot run it: {type(error).__name__}: {error}")
    finally:
        handle.remove()
        made = [(new, generated_options(code, new)) for code, new in seen]
        torch._dynamo.reset()
    for new, options in made:
        written = decompile_code(new, options=options)
        assert written.proven, [verdict.reason for verdict in written.verdicts]
        assert not leftovers(written.source).any, written.source
