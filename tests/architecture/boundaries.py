"""The rules of the package's boundaries: each takes a module and yields what breaks the rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from package_sources import PACKAGE, Module, is_in

Rule = Callable[[Module], Iterator[str]]

PROVIDERS: Final = (
    "anthropic", "boto3", "botocore", "cohere", "google", "groq", "litellm", "mistralai", "ollama", "openai",
    "together",
)  # fmt: skip
SDK_ROOMS: Final = ("sdk", "export_guard")
API_ROOMS: Final = ("emit", "instrument", "frameworks", "react", "testing", "verify.sending", "verify.foreign", *SDK_ROOMS)
PLAYS_OTHERS: Final = "verify.foreign"
"""Plays the part of instrumentations that put text into telemetry, so that a pipeline can be tried; it writes none of our records."""
PROTO_ROOMS: Final = ("sdk", "local", "testing", "cli")
BANNED_NAMES: Final = ("utils", "util", "helpers", "helper", "common", "manager", "managers", "misc")
NAME: Final = re.compile(r"\b(?:gen_ai|otel_agent)\.[a-z][a-z0-9_]*")
ENVIRONMENT: Final = ("os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv")
WIDE: Final = ("Exception", "BaseException")


def _imports(module: Module, roots: Iterable[str]) -> Iterator[str]:
    for found in module.imports:
        if not found.for_types_only and any(is_in(found.target, root) for root in roots):
            yield f"{module.name}:{found.line} imports {found.target}"


def sdk_has_one_door(module: Module) -> Iterator[str]:
    """``opentelemetry.sdk`` only in ``sdk.py`` and the export guard; the wire format where it is received or read."""
    if not module.within(*SDK_ROOMS):
        yield from _imports(module, ("opentelemetry.sdk", "opentelemetry.exporter"))
    if not module.within(*PROTO_ROOMS):
        yield from _imports(module, ("opentelemetry.proto",))


def api_stays_in_its_rooms(module: Module) -> Iterator[str]:
    """The OpenTelemetry API only where records are emitted and calls are watched."""
    if module.within(*API_ROOMS):
        return
    for found in module.imports:
        if is_in(found.target, "opentelemetry") and not found.target.startswith("opentelemetry.proto"):
            yield f"{module.name}:{found.line} imports {found.target}"


def wrapping_stays_in_its_room(module: Module) -> Iterator[str]:
    """``wrapt`` only in ``instrument`` and ``frameworks``."""
    if not module.within("instrument", "frameworks"):
        yield from _imports(module, ("wrapt",))


def environment_is_read_in_one_place(module: Module) -> Iterator[str]:
    """The environment is read in ``settings.py`` and nowhere else."""
    if module.within("settings"):
        return
    yield from _imports(module, ENVIRONMENT)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ENVIRONMENT:
            yield f"{module.name}:{node.lineno} uses {ast.unparse(node)}"


def only_the_guard_catches_everything(module: Module) -> Iterator[str]:
    """A handler for every exception only in ``guard.py``, unless it ends by raising what it caught."""
    if module.within("guard"):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and _is_wide(node.type) and not _re_raises(node):
            yield f"{module.name}:{node.lineno} catches everything"
        if isinstance(node, ast.Call) and _called(node) == "suppress" and any(map(_is_wide, node.args)):
            yield f"{module.name}:{node.lineno} suppresses everything"


def _is_wide(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(_is_wide, caught.elts))
    return caught is None or ast.unparse(caught).rpartition(".")[2] in WIDE


def _re_raises(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def names_come_from_the_records(names: Collection[str]) -> Rule:
    """No attribute, event or metric name is spelled outside ``records`` and the generated ``semconv.py``.

    ``names`` are module names, which begin in the same way.
    """

    def rule(module: Module) -> Iterator[str]:
        if module.within("records", "semconv", PLAYS_OTHERS):
            return
        for line, text in _strings(module.tree):
            for name in NAME.findall(text):
                if name not in names:
                    yield f"{module.name}:{line} spells {name}"

    return rule


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String constants that are not docstrings; a text standing alone as a statement is one."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


ADAPTER_MAY_USE: Final = ("adapters", "fields", "protocol", "records", "tally")


def adapters_are_pure(module: Module) -> Iterator[str]:
    """An adapter imports the readers, the protocol and the records: no OpenTelemetry, no provider's package."""
    if not module.within("adapters"):
        return
    yield from _imports(module, ("opentelemetry", "wrapt", *PROVIDERS))
    allowed = [f"{PACKAGE}.{room}" for room in ADAPTER_MAY_USE]
    for found in module.imports:
        ours = is_in(found.target, PACKAGE) and not found.for_types_only
        if ours and not any(is_in(found.target, room) for room in allowed):
            yield f"{module.name}:{found.line} imports {found.target}"


def is_adapter(module: Module) -> bool:
    """Whether a module of the room reads requests itself; the others hold tables and readers that adapters share."""
    defined = (node.name for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef))
    return module.within("adapters") and not module.is_package and "read_request" in defined


def adapters_stand_alone(modules: Collection[Module]) -> Rule:
    """No adapter is imported from within the room, except by its ``__init__``, which lists them."""
    adapters = [module.name for module in modules if is_adapter(module)]

    def rule(module: Module) -> Iterator[str]:
        if module.within("adapters") and not module.is_package:
            yield from _imports(module, adapters)

    return rule


def emit_knows_no_provider(module: Module) -> Iterator[str]:
    """The emitter knows a provider as a name in a record."""
    if module.within("emit"):
        yield from _imports(module, (f"{PACKAGE}.adapters", f"{PACKAGE}.instrument", *PROVIDERS))


def root_is_not_imported(modules: Collection[str]) -> Rule:
    """The package's root is for users: inside, a module imports the module that it means. The demo is written as a user would."""

    def rule(module: Module) -> Iterator[str]:
        if module.within("demo"):
            return
        for found in module.imports:
            head, _, name = found.target.rpartition(".")
            if found.target == PACKAGE or (head == PACKAGE and found.target not in modules):
                yield f"{module.name}:{found.line} imports {name} from the root"

    return rule


def errors_leave_no_text(module: Module) -> Iterator[str]:
    """No exception is recorded with its message: every provider's package quotes the provider there."""
    if module.within(PLAYS_OTHERS):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and (reason := _tells(node)):
            yield f"{module.name}:{node.lineno} {reason}"


def _tells(node: ast.Call) -> str | None:
    called, words = _called(node), {word.arg: word.value for word in node.keywords}
    if called == "record_exception":
        return "records an exception"
    if called in ("set_status", "Status") and (len(node.args) > 1 or "description" in words):
        return "describes a status"
    if called == "exception" and isinstance(node.func, ast.Attribute) and node.args:
        return "logs a traceback"
    shown = [word for word in ("exc_info", "stack_info") if ast.unparse(words.get(word, ast.Constant(value=False))) != "False"]
    return f"passes {shown[0]}" if shown else None


SPEAKING_ROOMS: Final = ("cli",)
"""Rooms that talk to the person at the terminal, not to the telemetry: they may say what went wrong."""


def messages_are_not_read(module: Module) -> Iterator[str]:
    """A caught exception is asked for its type, not its message: no ``str(error)``, ``f"{error}"``, ``error.args``."""
    if module.within(*SPEAKING_ROOMS):
        return
    for handler in ast.walk(module.tree):
        if isinstance(handler, ast.ExceptHandler) and handler.name:
            for node in ast.walk(handler):
                if _reads_message(node, handler.name):
                    yield f"{module.name}:{getattr(node, 'lineno', 0)} reads the message of an exception"


def _reads_message(node: ast.AST, error: str) -> bool:
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) in (f"{error}.args", f"{error}.message")
    if isinstance(node, ast.FormattedValue):
        return ast.unparse(node.value) == error
    return isinstance(node, ast.Call) and ast.unparse(node) in (f"str({error})", f"repr({error})")


def names_say_what_a_module_is(module: Module) -> Iterator[str]:
    """No module is called by a name that fits everything."""
    yield from (f"{module.name} is called {part}" for part in module.name.split(".") if part.strip("_") in BANNED_NAMES)


def cycles(modules: Collection[Module]) -> list[list[str]]:
    """Groups of modules that import one another in a ring, function-level imports included."""
    names = {module.name for module in modules}
    graph = {module.name: sorted(_edges(module, names)) for module in modules}
    return [sorted(ring) for ring in _components(graph) if len(ring) > 1]


def _edges(module: Module, names: Collection[str]) -> set[str]:
    found = {_nearest(item.target, names) for item in module.imports if not item.for_types_only}
    return {name for name in found if name and name not in (module.name, PACKAGE)}


def _nearest(target: str, names: Collection[str]) -> str | None:
    """The module that a dotted import target lies in."""
    while target and target not in names:
        target = target.rpartition(".")[0]
    return target or None


def _components(graph: Mapping[str, list[str]]) -> Iterator[set[str]]:
    """Strongly connected groups, by reachability: the graph is small."""
    reach = {name: _reachable(graph, name) for name in graph}
    seen: set[str] = set()
    for name in graph:
        if name not in seen:
            ring = {other for other in reach[name] if name in reach[other]} | {name}
            seen |= ring
            yield ring


def _reachable(graph: Mapping[str, list[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found
