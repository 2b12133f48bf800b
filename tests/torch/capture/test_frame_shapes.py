"""What is written in Dynamo's place for breaks in every kind of statement: proven, and with nothing left over."""

from __future__ import annotations

import contextlib
import io
import re
import warnings

import pytest
import torch
from frame_shapes import CALLS as SHAPES
from wild_shapes import CALLS as WILD_SHAPES

from depyf.decompiler.bytecode.host.handler_depths import with_one_depth
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.sources.live.generated import generated_options, resume_options
from depyf.sources.live.resume import origin
from tools.bench.dynamo_readability import leftovers

CALLS = {**SHAPES, **WILD_SHAPES}


def compiled(fn):
    return torch.compile(fn, backend="eager")


def compiled_around(fn):
    """The function that is compiled calls ``fn``: what breaks is inside of it."""

    def outer(*args, **kwargs):
        before = [len(args)]
        return fn(*args, **kwargs), before

    run = compiled(outer)
    return lambda *args, **kwargs: run(*args, **kwargs)[0]


NESTED = pytest.param(
    compiled_around,
    id="nested",
    marks=pytest.mark.skipif(
        tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13),
        reason="does not work in this torch, or is not there",
    ),
)


@pytest.mark.parametrize("compiling", [pytest.param(compiled, id="plain"), NESTED])
@pytest.mark.parametrize("name", CALLS)
def test_frames_are_proven_and_readable(name, compiling):
    torch._dynamo.reset()
    settings = {"nested_graph_breaks": True} if compiling is compiled_around else {}
    seen = []
    handle = torch._dynamo.convert_frame.register_bytecode_hook(lambda code, new: seen.append((code, new)))
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), torch._dynamo.config.patch(settings):
            warnings.simplefilter("ignore")
            for _ in range(2):
                CALLS[name](compiling)
    except Exception as error:  # nothing of depyf runs here
        pytest.skip(f"torch {torch.__version__} itself cannot run it: {type(error).__name__}: {error}")
    finally:
        handle.remove()
        made = [(new, generated_options(code, new)) for code, new in seen]
        resumed = [code for code, _ in seen if origin(code) is not None]
        torch._dynamo.reset()
    for new, options in made:
        written = decompile_code(new, options=options)
        assert written.proven, [verdict.reason for verdict in written.verdicts]
        assert not leftovers(written.source).any, written.source
        items = re.findall(r"^ *\w+ = (\w*graph_out_\w+\[\d+\])$", written.source, re.M)
        assert len(items) == len(set(items)), written.source
    for code in resumed:
        written = decompile_code(with_one_depth(code), options=resume_options())
        assert written.proven, [verdict.reason for verdict in written.verdicts]
        assert "raise None" not in written.source and "__is_tracing" not in written.source, written.source
        assert "__temp_" not in written.source, written.source
