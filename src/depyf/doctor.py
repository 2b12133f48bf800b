"""What to fix in a program, and whether it helps, measured in separate processes.  ``depyf doctor`` uses this."""

from __future__ import annotations

from depyf.actions.doctor.examine import DoctorReport, examine

__all__ = ["DoctorReport", "examine"]
