"""The local receiver, its store and what is shown of it."""
