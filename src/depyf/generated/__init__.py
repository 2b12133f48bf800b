"""Code that a program wrote, Dynamo above all: what it promises, and what makes it readable."""
