"""What else is known of a call that torch is about to compile again: who made its values, and who sets them."""
