"""What is shown of a run: pages, the report, comparisons.  Nothing of torch."""
