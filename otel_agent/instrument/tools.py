"""Watching tools: a decorator, and wrappers for any executor. The callable's kind and signature stay what they are."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from types import CoroutineType, TracebackType
from typing import Any, Final, Self, TypeVar, overload

import wrapt
from opentelemetry import context as otel_context

from otel_agent import guard
from otel_agent.fields import OTHER
from otel_agent.instrument.binding import Binding
from otel_agent.instrument.executions import Execution, begin, call_id_in_force
from otel_agent.instrument.given_names import look_at
from otel_agent.instrument.stepping import Stepped, SteppedAsync
from otel_agent.instrument.tool_spec import ToolSpec, declared_names
from otel_agent.instrument.validation import Validator
from otel_agent.stored import plain

F = TypeVar("F", bound=Callable[..., Any])


UNDER: Final = (classmethod, staticmethod)
"""Decorators that ``tool`` may stand above: it goes beneath them."""


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(name: str | None = None, /, **options: Any) -> Callable[[F], F]: ...
def tool(name: Any = None, /, **options: Any) -> Any:
    """Watch a tool: ``@tool``, ``@tool("issue_refund", effect="write")``, or ``tool(function)``.

    Works on functions, methods (above or below ``@classmethod`` and ``@staticmethod``), coroutine functions, generators and async
    generators, and on functions that return an awaitable. ``name``: by default the function's; one that does not fit, such as a lambda's,
    is recorded as ``_OTHER``, and a warning says so once. ``options``: fields of :class:`~otel_agent.instrument.tool_spec.ToolSpec`
    (``kind``, ``effect``, ``schema``, ``failed``, ``truncated``, ``result_ids``, ``governance``). What the tool returns and raises reaches
    the caller unchanged.
    """
    if callable(name) or isinstance(name, UNDER):
        return _watched(name, None, options)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"tool takes a function or a name, not {type(name).__name__}")
    return lambda function: _watched(function, name, options)


def wrap_tools(tools: Any, **options: Any) -> Any:
    """Watch a whole set: a dict of name → function, a list or tuple of functions, or one function. Returns the same kind of thing.

    Raises ``TypeError`` for anything else, and ``ValueError`` for an empty set: nothing watched is never silent success.
    """
    if isinstance(tools, Mapping):
        wrapped: Any = {name: _watched(function, name, options) for name, function in tools.items()}
    elif isinstance(tools, (list, tuple)):
        wrapped = type(tools)(_watched(function, None, options) for function in tools)
    elif callable(tools):
        return _watched(tools, None, options)
    else:
        raise TypeError(f"wrap_tools takes a dict, list, tuple or function, not {type(tools).__name__}")
    if not wrapped:
        raise ValueError("wrap_tools was given no tool: pass the tools after they are defined")
    return wrapped


NAME_WORDS: Final = ("name", "tool", "tool_name")
"""Keywords by which dispatchers are given the tool's name."""


def wrap_dispatcher(dispatch: F, tools: Collection[str] | Mapping[str, Mapping[str, Any]], **options: Any) -> F:
    """Watch a dispatcher that is called as ``dispatch(name, arguments)``.

    ``tools``: the declared names, or name → JSON Schema of the arguments. A name that is not among them is recorded as ``_OTHER`` with
    the outcome ``unknown_tool``, since a name that a model made up is text. ``arguments`` may be a mapping or JSON text.
    """
    schemas: Mapping[str, Any] = tools if isinstance(tools, Mapping) else {}
    specs = {name: _spec(name, None, {**options, "schema": schemas.get(name)}) for name in tools}
    unknown = _spec(OTHER, None, options)

    def arguments_of(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ToolSpec, Validator, Any]:
        name = args[0] if args else next((kwargs[word] for word in NAME_WORDS if word in kwargs), None)
        given = args[1] if len(args) > 1 else kwargs.get("arguments", kwargs.get("args", kwargs.get("input")))
        name = plain(name)
        spec, validator = specs.get(name, unknown) if type(name) is str else unknown
        return spec, validator, mapping_of(given)

    return _around(dispatch, arguments_of)


def mapping_of(arguments: Any) -> Mapping[str, Any] | None:
    """Arguments as a mapping; JSON text is parsed. ``None`` when it is neither."""
    arguments = plain(arguments)
    if type(arguments) is str and len(arguments) <= 1 << 20:
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, Mapping) else None


@contextmanager
def tool_call(call_id: str) -> Iterator[None]:
    """Carry the provider's id of a call to the execution inside this block."""
    token = call_id_in_force.set(call_id)
    try:
        yield
    finally:
        call_id_in_force.reset(token)


def _spec(name: str, function: Callable[..., Any] | None, options: dict[str, Any]) -> tuple[ToolSpec, Validator]:
    look_at(name, "tool")
    schema = options.get("schema")
    spec = ToolSpec(name=name, **{"declared": declared_names(schema, function), **options})
    return spec, Validator(schema)


def _watched(function: Any, name: str | None, options: dict[str, Any]) -> Any:
    if isinstance(function, UNDER):
        return type(function)(_watched(function.__func__, name, options))
    if not callable(function):
        raise TypeError(f"a tool must be callable, not {type(function).__name__}")
    spec, validator = _spec(name or str(getattr(function, "__name__", type(function).__name__)), function, options)
    bound = Binding(function).of

    def arguments_of(instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ToolSpec, Validator, Any]:
        return spec, validator, bound(instance, args, kwargs)

    return _around(function, arguments_of)


ArgumentsOf = Callable[[Any, tuple[Any, ...], dict[str, Any]], tuple[ToolSpec, Validator, Any]]
"""``(instance, args, kwargs)``: the tool, and its arguments by name."""


def _around(function: F, arguments_of: ArgumentsOf) -> F:
    for suits, make in KINDS:
        if suits(function):
            return make(function, arguments_of)  # type: ignore[no-any-return]
    return _plain(function, arguments_of)  # type: ignore[no-any-return]


def _start(arguments_of: ArgumentsOf, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Execution | None:
    found = guard.run("tool.arguments", arguments_of, instance, args, kwargs)
    return None if found is None else begin(*found, None)


def _plain(function: Any, arguments_of: ArgumentsOf) -> Any:
    @wrapt.decorator
    def watch(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        execution = _start(arguments_of, instance, args, kwargs)
        if execution is None:
            return wrapped(*args, **kwargs)
        with _Deferred(execution) as deferred:
            result = wrapped(*args, **kwargs)
            return deferred.take(result)

    return watch(function)


class _Deferred:
    """A plain function's execution: ends with the function, unless that returned an awaitable, whose end is then the tool's."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._later = False

    def __enter__(self) -> Self:
        self._execution.__enter__()
        return self

    def take(self, result: Any) -> Any:
        """What to give the caller for ``result``: the same object, or for a coroutine one that does the same."""
        kind = type(result)  # a proxy answers ``isinstance`` by code of its own, which may raise
        if issubclass(kind, asyncio.Future):
            self._later = True
            result.add_done_callback(self._settle)
            return result
        if kind is CoroutineType:
            self._later = True
            return _finish_later(self._execution, result)
        self._execution.result(result)
        return result

    def _settle(self, future: asyncio.Future[Any]) -> None:
        guard.run("tool.future", settle, self._execution, future)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._later:
            self._execution.detach()
        else:
            self._execution.__exit__(kind, error, trace)


def settle(execution: Execution, future: asyncio.Future[Any]) -> None:
    """End an execution whose tool returned a future."""
    if future.cancelled():
        execution.close(asyncio.CancelledError())
    elif (error := future.exception()) is not None:
        execution.close(error)
    else:
        execution.result(future.result())
        execution.close(None)


async def _finish_later(execution: Execution, coroutine: Awaitable[Any]) -> Any:
    with execution:
        result = await coroutine
        execution.result(result)
        return result


def _coroutine(function: Any, arguments_of: ArgumentsOf) -> Any:
    @wrapt.decorator
    async def watch(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        execution = _start(arguments_of, instance, args, kwargs)
        if execution is None:
            return await wrapped(*args, **kwargs)
        with execution:
            result = await wrapped(*args, **kwargs)
            execution.result(result)
            return result

    return watch(function)


def _generator(function: Any, arguments_of: ArgumentsOf) -> Any:
    @wrapt.decorator
    def watch(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Generator[Any, Any, Any]:
        return steps(wrapped(*args, **kwargs), instance, args, kwargs)

    def steps(inner: Generator[Any, Any, Any], instance: Any, args: Any, kwargs: Any) -> Generator[Any, Any, Any]:
        execution = _start(arguments_of, instance, args, kwargs)
        if execution is None:
            return (yield from inner)
        with Ending(execution):
            return (yield from Stepped(inner, execution.context))

    return watch(function)


def _async_generator(function: Any, arguments_of: ArgumentsOf) -> Any:
    @wrapt.decorator
    def watch(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> AsyncGenerator[Any, Any]:
        return steps(wrapped(*args, **kwargs), instance, args, kwargs)

    async def steps(inner: AsyncGenerator[Any, Any], instance: Any, args: Any, kwargs: Any) -> AsyncGenerator[Any, Any]:
        execution = _start(arguments_of, instance, args, kwargs)
        taken = SteppedAsync(inner, otel_context.get_current() if execution is None else execution.context)
        with Ending(execution):
            try:
                while await taken.advance():
                    with taken:
                        taken.sent = yield taken.item
            finally:
                await taken.aclose()

    return watch(function)


class Ending:
    """Ends an execution when its block does, without making its context current: a generator's body runs in its consumer's."""

    def __init__(self, execution: Execution | None) -> None:
        self._execution = execution

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._execution is not None:
            guard.run("tool.finish", self._execution.close, error)


KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any, ArgumentsOf], Any]], ...] = (
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.isgeneratorfunction, _generator),
    (inspect.iscoroutinefunction, _coroutine),
)
"""Kinds of callables that need a wrapper of their own."""
