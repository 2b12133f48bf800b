"""What torch reports, read as text and plain data: by the process that compiles, and from a log of it.  No torch."""
