"""Tool runners of the anthropic SDK: they execute the application's tools, know the provider's call id, and swallow every exception.

``BaseSyncToolRunner._run_tool(tool, tool_use)`` and its async twin are private and newer than the oldest supported version, so both
places are optional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from otel_agent import guard
from otel_agent.fields import get
from otel_agent.instrument.executions import Execution, begin
from otel_agent.instrument.patches import Patch, Patches
from otel_agent.instrument.tool_spec import ToolSpec, declared_names
from otel_agent.instrument.tools import mapping_of
from otel_agent.instrument.validation import Validator

MODULE: Final = "anthropic.lib.tools._beta_runner"
APPLIED: Final = Patches()


def _spec(tool: Any) -> tuple[ToolSpec, Validator]:
    """The spec of a runner's tool; ``input_schema`` is the JSON Schema that the model was shown."""
    schema = get(tool, "input_schema")
    schema = schema if type(schema) is dict else None
    return ToolSpec(name=get(tool, "name"), schema=schema, declared=declared_names(schema, None)), Validator(schema)


def _start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Execution | None:
    given = dict(zip(("tool", "tool_use"), args, strict=False)) | kwargs
    found = guard.run("runner.spec", _spec, given.get("tool"))
    use = given.get("tool_use")
    return None if found is None else begin(*found, mapping_of(get(use, "input")), get(use, "id"))


def run_tool(wrapped: Callable[..., Any], runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Wrapper of the sync runner's ``_run_tool``."""
    execution = _start(args, kwargs)
    if execution is None:
        return wrapped(*args, **kwargs)
    with execution:
        result = wrapped(*args, **kwargs)
        execution.result(result)
    return result


async def run_tool_async(wrapped: Callable[..., Any], runner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Wrapper of the async runner's ``_run_tool``."""
    execution = _start(args, kwargs)
    if execution is None:
        return await wrapped(*args, **kwargs)
    with execution:
        result = await wrapped(*args, **kwargs)
        execution.result(result)
    return result


def patches() -> tuple[Patch, ...]:
    """Both runners."""
    return (
        Patch(MODULE, "BaseSyncToolRunner._run_tool", run_tool, optional=True),
        Patch(MODULE, "BaseAsyncToolRunner._run_tool", run_tool_async, optional=True),
    )
