"""What Inductor decides while it makes kernels of a graph."""
