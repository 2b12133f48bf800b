"""Guards of torch.compile: a class for each kind, and what differs where one does not hold."""
