"""What guards and inputs say of the values of a call, and values made like them."""
