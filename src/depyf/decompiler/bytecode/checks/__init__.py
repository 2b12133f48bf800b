"""What handlers and finally blocks of 3.8-3.10 must find on the stack."""
