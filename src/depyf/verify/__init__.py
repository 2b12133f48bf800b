"""Proof that decompiled source means the same as the bytecode it came from."""

from depyf.verify.verdict import Status, Verdict
from depyf.verify.whole import verify

__all__ = ["Status", "Verdict", "verify"]
