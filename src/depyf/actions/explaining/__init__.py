"""``depyf.explain``: what torch has compiled, from its live caches."""
