"""Rules of the walk that rest on the contract of generated code: resume functions, as Dynamo writes them."""
