"""What training keeps in memory between forward and backward, and what the generated code allocates."""
