"""Floor 1: where commands of the target project run. One module a mechanism, one interface."""
