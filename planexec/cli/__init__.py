"""Floor 5: what people and pipelines touch."""
