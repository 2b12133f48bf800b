"""What Dynamo does while it traces."""
