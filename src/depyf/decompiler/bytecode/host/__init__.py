"""Live code objects of the running interpreter: taken apart, changed, put together."""
