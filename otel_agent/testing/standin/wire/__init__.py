"""One module per wire format: a reply in, JSON or events out."""
