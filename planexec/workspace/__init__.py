"""Floor 1: the user's repository, the copies that are worked on, snapshots, patches."""
