"""The passes, the strategies that are tried in order, and the run with its proof."""
