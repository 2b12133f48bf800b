"""Commands as a user types them, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from dumps import ROOT

from signals import hear_interrupts


def environment(env):
    return dict(os.environ) | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"} | (env or {})


def python(*command, cwd, env=None):
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment(env), capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=hear_interrupts,
    )  # fmt: skip
