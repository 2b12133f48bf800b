"""Why a run compiled as often, and ran as much ordinary Python, as it did: causes, from its records."""
