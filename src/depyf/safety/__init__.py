"""What keeps depyf a guest in the user's process: deep recursion, warnings, escaped text, a barrier for errors."""
