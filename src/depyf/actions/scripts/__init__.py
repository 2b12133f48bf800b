"""One maker of scripts: what gallery, repro and export are written with.  Nothing here imports torch."""
