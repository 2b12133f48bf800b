"""The state of the program that a call can reach: kept before the call, compared after it, and put back."""
