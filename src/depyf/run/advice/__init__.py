"""What to change so that torch compiles less often, or more of the program: a registry, and which advice fits a
case."""
