"""What a file is that holds no bytecode: here, texts."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.files.other_files import PRINTED_LOG, is_printed_log, kind_of

HEAD = b"V1130 19:09:57.463000 20302 torch/_dynamo/symbolic_convert.py:5124] "


@pytest.mark.parametrize(
    "text",
    [
        HEAD + b"[0/0] [__graph_breaks] Graph break in user code at a.py:5\n",
        b"step 1\nstep 2\n[rank0]:" + HEAD + b"[0/1] [__recompiles] Recompiling function f\n",
    ],
)
def test_what_loggers_of_torch_print(text: bytes) -> None:
    assert is_printed_log(text) and kind_of(text) == PRINTED_LOG


@pytest.mark.parametrize("text", [HEAD + b'{"graph_dump": {}}\n', b"print(1)\n", b"", b"see " + HEAD + b"there"])
def test_other_texts(text: bytes) -> None:
    assert not is_printed_log(text)
