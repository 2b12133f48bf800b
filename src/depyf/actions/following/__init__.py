"""What a job does that goes on: its compilations as they end, and what it answers when it is asked."""
