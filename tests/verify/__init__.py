"""``otel-agent verify``, with far ends that keep everything and far ends that keep nothing."""
