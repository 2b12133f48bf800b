"""What only bytecode that no compiler writes needs."""
