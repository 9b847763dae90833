"""The demo: agents on the real provider SDKs, against a stand-in for the providers, recorded into a local store.

:mod:`~otel_agent.demo.scripts` says what the "model" answers, :mod:`~otel_agent.demo.agents` are the agents (they run in a process of
their own, started as ``otel-agent run`` starts any program), :mod:`~otel_agent.demo.play` directs and shows the result.
"""
