"""The one place where concrete parts are chosen and put together."""
