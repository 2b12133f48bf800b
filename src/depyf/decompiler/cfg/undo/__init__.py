"""One file for each optimisation of the compiler that is undone in the graph."""
