"""What to fix in a program, and whether it helps: measured in processes of our own.  ``depyf doctor`` asks here."""

from __future__ import annotations

from depyf.doctor.examine import DoctorReport, examine

__all__ = ["DoctorReport", "examine"]
