"""Floor 1: how the target project's tests are run and how their outcome is believed."""
