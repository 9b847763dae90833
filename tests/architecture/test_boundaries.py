"""What may never import, read or say what. Each rule is shown to catch a module that breaks it."""

from __future__ import annotations

import textwrap

import pytest
from boundaries import (
    Rule,
    adapters_are_pure,
    adapters_stand_alone,
    api_stays_in_its_rooms,
    cycles,
    emit_knows_no_provider,
    environment_is_read_in_one_place,
    errors_leave_no_text,
    messages_are_not_read,
    names_come_from_the_records,
    names_say_what_a_module_is,
    only_the_guard_catches_everything,
    root_is_not_imported,
    sdk_has_one_door,
    wrapping_stays_in_its_room,
)
from package_sources import Module, modules

MODULES = modules()
NAMES = {name for module in MODULES for name in (module.name, module.name.rpartition(".")[0])} - {""}
ADAPTER = Module("otel_agent.adapters.anthropic", "class Anthropic:\n    def read_request(self, body): ...")

RULES: dict[str, Rule] = {
    "sdk": sdk_has_one_door,
    "api": api_stays_in_its_rooms,
    "wrapt": wrapping_stays_in_its_room,
    "environment": environment_is_read_in_one_place,
    "wide": only_the_guard_catches_everything,
    "names": names_come_from_the_records(NAMES),
    "adapters": adapters_are_pure,
    "alone": adapters_stand_alone([*MODULES, ADAPTER]),
    "emit": emit_knows_no_provider,
    "root": root_is_not_imported(NAMES),
    "errors": errors_leave_no_text,
    "messages": messages_are_not_read,
    "called": names_say_what_a_module_is,
}


@pytest.mark.parametrize("rule", RULES)
def test_the_package_keeps_the_rule(rule: str) -> None:
    """No module breaks it."""
    assert [fault for module in MODULES for fault in RULES[rule](module)] == []


def test_there_are_no_import_cycles() -> None:
    """Imports point one way."""
    assert cycles(MODULES) == []


def test_the_rules_see_the_package() -> None:
    """An empty list of modules would keep every rule."""
    assert {"otel_agent", "otel_agent.records", "otel_agent.records.turn", "otel_agent.guard"} <= NAMES


BAD = [
    ("sdk", "emit.spans", "from opentelemetry.sdk.trace import TracerProvider"),
    ("sdk", "local.server", "import opentelemetry.sdk"),
    ("sdk", "local.server", "def f():\n    from opentelemetry.exporter.otlp.proto.grpc import x"),
    ("sdk", "emit.spans", "from opentelemetry.proto.trace.v1 import trace_pb2"),
    ("api", "records.turn", "from opentelemetry import trace"),
    ("api", "history", "import opentelemetry.trace"),
    ("wrapt", "emit.spans", "import wrapt"),
    ("wrapt", "sdk", "from wrapt import wrap_function_wrapper"),
    ("environment", "emit.spans", "import os\nKEY = os.environ['KEY']"),
    ("environment", "local.settings", "from os import getenv"),
    ("environment", "cli.main", "import os\nos.getenv('KEY')"),
    ("environment", "cli.main", "from os import environ as e"),
    ("wide", "emit.spans", "try:\n    f()\nexcept Exception:\n    pass"),
    ("wide", "emit.spans", "try:\n    f()\nexcept:\n    pass"),
    ("wide", "emit.spans", "try:\n    f()\nexcept (ValueError, BaseException) as e:\n    g()"),
    ("wide", "emit.spans", "import builtins\ntry:\n    f()\nexcept builtins.Exception:\n    raise ValueError"),
    ("wide", "local.guard", "from contextlib import suppress\nwith suppress(Exception):\n    f()"),
    ("names", "emit.spans", "MODEL = 'gen_ai.request.model'"),
    ("names", "local.queries", "SQL = f'select \"otel_agent.run.id\" from {table}'"),
    ("names", "emit.spans", "x = {'otel_agent.api': 1}"),
    ("adapters", "adapters.openai", "import openai"),
    ("adapters", "adapters.openai", "from anthropic.types import Message"),
    ("adapters", "adapters.openai", "from opentelemetry import trace"),
    ("alone", "adapters.openai", "from otel_agent.adapters.anthropic import usage"),
    ("alone", "adapters.openai", "from otel_agent.adapters import anthropic"),
    ("alone", "adapters.openai", "from .anthropic import usage"),
    ("adapters", "adapters.openai", "from otel_agent.emit import Emitter"),
    ("adapters", "adapters.usage", "from otel_agent.settings import Settings"),
    ("emit", "emit.spans", "from otel_agent.adapters import adapter_for"),
    ("emit", "emit.spans", "import openai"),
    ("root", "emit.spans", "import otel_agent"),
    ("root", "emit.spans", "from otel_agent import instrument_everything"),
    ("root", "emit.spans", "from .. import instrument_everything"),
    ("errors", "emit.spans", "span.record_exception(error)"),
    ("errors", "emit.spans", "span.set_status(StatusCode.ERROR, 'why')"),
    ("errors", "emit.spans", "span.set_status(Status(StatusCode.ERROR, description=str(e)))"),
    ("errors", "emit.spans", "log.warning('failed', exc_info=True)"),
    ("errors", "emit.spans", "log.warning('failed', exc_info=error)"),
    ("errors", "emit.spans", "log.exception('failed')"),
    ("messages", "emit.spans", "try:\n    f()\nexcept ValueError as error:\n    g(str(error))"),
    ("messages", "emit.spans", "try:\n    f()\nexcept ValueError as error:\n    g(f'no: {error}')"),
    ("messages", "emit.spans", "try:\n    f()\nexcept ValueError as error:\n    g(error.args[0])"),
    ("called", "emit.utils", ""),
    ("called", "local.helpers.text", ""),
]


@pytest.mark.parametrize(("rule", "name", "source"), BAD)
def test_a_module_that_breaks_the_rule_is_caught(rule: str, name: str, source: str) -> None:
    """The rules can fail."""
    assert list(RULES[rule](Module(f"otel_agent.{name}", textwrap.dedent(source))))


GOOD = [
    ("sdk", "sdk", "from opentelemetry.sdk.trace import TracerProvider"),
    ("sdk", "local.guard", "from opentelemetry.proto.trace.v1 import trace_pb2"),
    ("api", "emit.spans", "from opentelemetry import trace"),
    ("environment", "settings", "import os\nos.environ.get('KEY')"),
    ("environment", "cli.main", "import os\nos.path.join('a')"),
    ("wide", "guard", "try:\n    f()\nexcept Exception:\n    pass"),
    ("wide", "instrument.streams", "try:\n    f()\nexcept BaseException:\n    finish()\n    raise"),
    ("names", "records.turn", "NAME = 'gen_ai.request.model'"),
    ("names", "emit.spans", "'''Sets gen_ai.request.model.'''\nX = 1\n'''Also gen_ai.request.model.'''"),
    ("names", "cli.main", "ENTRY = 'otel_agent.guard'"),
    ("adapters", "adapters.openai", "from otel_agent.fields import count\nfrom otel_agent.adapters.usage import TABLE"),
    ("alone", "adapters.openai", "from otel_agent.adapters import usage"),
    (
        "adapters", "adapters.openai",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from openai.types import Completion",
    ),
    ("root", "demo.tools", "import otel_agent"),
    ("root", "emit.spans", "from otel_agent import guard\nfrom otel_agent.records import ModelTurn"),
    ("errors", "emit.spans", "span.set_status(StatusCode.ERROR)\nsys.exception()"),
    ("errors", "emit.spans", "log.warning('failed', exc_info=False)"),
    ("messages", "emit.spans", "try:\n    f()\nexcept ValueError as error:\n    g(type(error).__name__)"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "name", "source"), GOOD)
def test_a_module_that_keeps_the_rule_is_left_alone(rule: str, name: str, source: str) -> None:
    """And do not fail without cause."""
    assert list(RULES[rule](Module(f"otel_agent.{name}", source))) == []


def test_an_adapter_room_lists_its_adapters() -> None:
    """Only its ``__init__`` imports them."""
    room = Module("otel_agent.adapters", "from otel_agent.adapters.anthropic import Anthropic", is_package=True)
    assert list(RULES["alone"](room)) == []


def test_a_ring_of_imports_is_caught() -> None:
    """Also when one of its links is inside a function; an import for types alone is no link."""
    a = Module("otel_agent.a", "from otel_agent.b import x")
    b = Module("otel_agent.b", "def f():\n    from otel_agent.c import y")
    c = Module("otel_agent.c", "import otel_agent.a")
    typed = Module("otel_agent.c", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import otel_agent.a")
    assert cycles([a, b, c]) == [["otel_agent.a", "otel_agent.b", "otel_agent.c"]]
    assert cycles([a, b, typed]) == []
