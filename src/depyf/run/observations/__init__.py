"""What a run shows besides recompilations, graph breaks and ordinary Python: one file for each kind of observation."""
