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
    made = []
    handle = torch._dynamo.convert_frame.register_bytecode_hook(
        lambda code, new: made.append((new, generated_options(code, new)))
    )
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2):
                CALLS[name](lambda fn: torch.compile(fn, backend="eager"))
    except torch._dynamo.exc.InternalTorchDynamoError as error:
        pytest.skip(f"this torch cannot compile it: {error}")
    finally:
        handle.remove()
        torch._dynamo.reset()
    for code, options in made:
        written = decompile_code(code, options=options)
        assert written.proven, [verdict.reason for verdict in written.verdicts]
        assert not leftovers(written.source).any, written.source
