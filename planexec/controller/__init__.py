"""Floor 4: the loop. It knows protocols, not their implementations."""
