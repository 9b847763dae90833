"""Where a host's calls are watched: provider clients, streams, tools, runs. Everything here goes through :mod:`otel_agent.guard`."""
