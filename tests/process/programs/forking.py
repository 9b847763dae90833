"""Workers in the manner of a pre-forking server. Arguments: the provider's address, ``fork``, ``spawn`` or ``prefork``."""

import multiprocessing
import os
import sys

import anthropic

import otel_agent

otel_agent.instrument()
ASK = {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": [{"role": "user", "content": "Where?"}]}


def work(name: str) -> None:
    """One run with one call, by a client of the worker's own."""
    with otel_agent.agent_run(name), anthropic.Anthropic(base_url=sys.argv[1], api_key="none") as client:
        client.messages.create(**ASK)


def work_spawned(name: str) -> None:
    """The same in an interpreter of its own."""
    otel_agent.instrument()
    work(name)


def prefork() -> None:
    """As gunicorn does: fork after loading; each worker serves and then shuts down by its hook."""
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            work(f"worker{number}")
            otel_agent.shutdown(10.0)
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


def pool(method: str) -> None:
    """Processes of ``multiprocessing``, whose ends run exit handlers."""
    context = multiprocessing.get_context(method)
    target = work_spawned if method == "spawn" else work
    made = [context.Process(target=target, args=(f"worker{number}",)) for number in range(3)]
    for process in made:
        process.start()
    for process in made:
        process.join(60)
        assert process.exitcode == 0, process.exitcode


if __name__ == "__main__":
    work("parent")
    prefork() if sys.argv[2] == "prefork" else pool(sys.argv[2])
    work("parent")
