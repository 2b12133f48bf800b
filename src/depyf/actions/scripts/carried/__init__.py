"""Text that scripts and packages carry with them: copied, never imported by depyf."""
