"""Self-contained scripts from dumps.  Nothing here imports torch; the scripts need torch and nothing else."""
