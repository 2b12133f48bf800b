"""Code that a program generated, Dynamo above all: the contract it keeps, and the passes that make it readable."""
