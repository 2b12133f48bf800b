"""Everything that knows torch.  Importing this package does not import torch; using it does."""
