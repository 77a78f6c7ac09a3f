"""Floor 2: the model-free search for a patch."""
