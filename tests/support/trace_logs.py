"""Logs of torch made by hand, as ``torch/_logging/_internal.py`` writes them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

GUARDS = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['n'], accessed_by=FrameLocalsGuardAccessor(key='n'), type=<class 'int'>
| | +- EQUALS_MATCH: L['n'] == {n}  # return x * n  # {short}:2 in f
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x'), type=<class 'torch.Tensor'>
| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[4], stride=[1])  # return x * n  # {short}:2 in f
"""
GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu"):
        l_x_ = L_x_
        mul: "f32[4][1]cpu" = l_x_ * {n};  l_x_ = None
        return (mul,)
"""
BREAK = """\
Graph break in user code at {file}:3
Graph Break Reason: Data-dependent branching
  Explanation: Detected data-dependent branching.
  Hint: Use `torch.cond` to express dynamic control flow.

User code traceback:
  File "{file}", line 3, in f
    if y.sum() > 0:
"""


class TraceLog:
    """A log, written record by record."""

    def __init__(self, day: str = "1129", hour: int = 1) -> None:
        self.text = ""
        self._seconds = 0
        self._when = day, hour
        self._strings: dict[str, int] = {}

    def add(self, metadata: dict[str, Any], payload: str | None = None, key: str = "") -> None:
        """One record; ``key``: its compile id."""
        self._seconds += 1
        day, hour = self._when
        if key:
            frame, _, number = key.partition("/")
            metadata = {**metadata, "frame_id": int(frame), "frame_compile_id": int(number), "attempt": 0}
        if payload is not None:
            metadata = {**metadata, "has_payload": hashlib.md5(payload.encode()).hexdigest()}
        stamp = f"{day} {hour:02}:{self._seconds // 60:02}:{self._seconds % 60:02}.000000"
        self.text += f"V{stamp} 1818 torch/_dynamo/x.py:12] {json.dumps(metadata)}\n"
        if payload is not None:
            self.text += "".join(f"\t{line}\n" for line in payload.split("\n"))

    def artifact(self, name: str, payload: str, key: str, encoding: str = "string") -> None:
        """One record of the kind in which torch logs most things."""
        self.add({"artifact": {"name": name, "encoding": encoding}}, payload, key)

    def named(self, path: str) -> int:
        """The number of a string, which is written where it was not yet."""
        if path not in self._strings:
            self._strings[path] = len(self._strings)
            self.add({"str": [path, self._strings[path]]})
        return self._strings[path]

    def compiled(self, key: str, file: str, n: int = 2, recompiled: str = "", broken: str = "", **metrics: Any) -> None:
        """One compilation of ``f`` in ``file``, from begin to end."""
        if recompiled:
            self.artifact("recompile_reasons", json.dumps([recompiled]), key, "json")
        frame = {"line": 1, "name": "f", "filename": self.named(file)}
        self.add({"dynamo_start": {"stack": [frame]}}, None, key)
        if broken:
            self.artifact("dynamo_graph_break_reason", broken, key)
        self.add({"dynamo_output_graph": {"sizes": {}}}, GRAPH.format(n=n), key)
        self.add({"dynamo_cpp_guards_str": {}}, GUARDS.format(n=n, short=file.rpartition("/")[2]), key)
        told = {
            "compile_id": key, "co_name": "f", "co_filename": file, "co_firstlineno": 1, "graph_op_count": 1,
            "entire_frame_compile_time_s": 0.5, "fail_type": None, "fail_reason": None, "restart_reasons": [],
            "has_guarded_code": True, "python_version": "3.11.7 (main)", "pytorch_version": "2.13.0",
            "dynamo_config": json.dumps({"recompile_limit": 8, "suppress_errors": False}), **metrics,
        }  # fmt: skip
        self.add({"compilation_metrics": told}, None, key)

    def write(self, path: Path) -> Path:
        """Into a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        return path


def small_log(file: str, day: str = "1129", hour: int = 1) -> TraceLog:
    """Two compilations of a function, the second for another number, and a graph break in the first."""
    log = TraceLog(day, hour)
    log.compiled("0/0", file, 2, broken=BREAK.format(file=file))
    log.compiled("0/1", file, 3, recompiled=f"0/0: n == 2  # return x * n  # {file.rpartition('/')[2]}:2 in f")
    return log
