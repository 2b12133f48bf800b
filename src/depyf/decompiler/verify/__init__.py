"""Proof that decompiled source means the same as the bytecode it came from."""

from depyf.decompiler.verify.verdict import Status, Verdict
from depyf.decompiler.verify.whole import verify

__all__ = ["Status", "Verdict", "verify"]
