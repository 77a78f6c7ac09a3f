"""Floor 3: who chooses the next action."""
