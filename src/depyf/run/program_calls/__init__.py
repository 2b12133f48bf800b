"""Calls that the program makes: of ``torch.compile``, and of what that returns."""
