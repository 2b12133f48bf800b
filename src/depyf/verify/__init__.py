"""Proof that decompiled source means the same as the bytecode it came from."""

from depyf.verify.verify import verify
from depyf.verify.verdict import Status, Verdict

__all__ = ["Status", "Verdict", "verify"]
