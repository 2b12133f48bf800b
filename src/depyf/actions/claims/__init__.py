"""Whether what Dynamo made of a function does what the function does, by terms."""
