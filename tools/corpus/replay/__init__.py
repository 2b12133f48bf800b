"""Replay: what one commit writes for a fixed set of inputs, against what another writes (``make replay BASE=<commit>``)."""
