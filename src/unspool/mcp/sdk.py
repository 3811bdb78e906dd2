"""The tools as a server of the official SDK: requests in, results out, whatever the transport and its age.

Contract: what a tool cannot do is a result with ``isError`` and one sentence; a bug is one, too, and its
traceback goes to stderr. The client's roots are asked for when a path is to be opened: by a request of ours
in the versions of the protocol that have it, and by a result that asks for input from 2026-07-28 on. A
client that says it has roots and does not tell them in time opens no path.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from typing import TYPE_CHECKING, TypeAlias

from ..errors import ConfigError
from ..reach.extras import how_to_add
from ..safe_text import one_line, safe
from .asked import TOOLS, Asked, OpenContext, described, read, schema_of
from .bounds import MOST, Refused, sentence
from .desk import Desk
from .places import folders_of
from .progress import Progress

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        InputRequiredResult,
        ListRootsResult,
        ListToolsResult,
        PaginatedRequestParams,
    )

    Context: TypeAlias = ServerRequestContext[dict[str, object]]

INSTALL = f"the MCP server needs the MCP SDK: {how_to_add('mcp')}"
ROOTS_SECONDS = 10.0
_ROOTS = "roots"  # the name of our question in a result that asks for input

INSTRUCTIONS = (
    "Long inputs stay out of your window: open_context gives a handle; look, read_range and run_code show "
    "parts of it, ask answers a question over all of it. To read much, write code in run_code that calls "
    f"llm_query on slices. No result is longer than {MOST:,} characters."
)


def make_server(desk: Desk) -> Server[dict[str, object]]:
    """Raises :class:`ConfigError` where the SDK is not installed."""
    try:
        from mcp.server.lowlevel.server import Server
    except ImportError:
        raise ConfigError(INSTALL) from None
    from .. import __version__

    calls = _Calls(desk)
    return Server(
        "unspool",
        version=__version__,
        title="unspool",
        instructions=INSTRUCTIONS,
        on_list_tools=calls.tools,
        on_call_tool=calls.call,
    )


class _Calls:
    """The two requests that are served."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        from mcp_types import ListToolsResult, Tool, ToolAnnotations

        return ListToolsResult(
            tools=[
                Tool(
                    name=name,
                    description=described(kind),
                    input_schema=schema_of(kind),
                    annotations=ToolAnnotations(
                        read_only_hint=kind.reads_only,
                        destructive_hint=False,
                        open_world_hint=kind.asks_models,
                    ),
                )
                for name, kind in TOOLS.items()
            ]
        )

    async def call(
        self, context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        from mcp.shared.exceptions import MCPError
        from mcp_types import INVALID_PARAMS, CallToolResult, TextContent

        if params.name not in TOOLS:
            told = f"there is no tool {params.name[:60]!r}; known: {', '.join(TOOLS)}"
            raise MCPError(code=INVALID_PARAMS, message=told)
        try:
            asked = read(params.name, params.arguments)
            folders = await _roots(context, params, asked)
            if not isinstance(folders, list):
                return folders
            texts = await self._desk.do(asked, _client(context), folders, _progress(context))
        except Refused as error:
            return CallToolResult(content=[TextContent(text=sentence(error))], is_error=True)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            told = f"unspool itself failed ({type(error).__name__}); its standard error says where"
            return CallToolResult(content=[TextContent(text=told)], is_error=True)
        return CallToolResult(content=[TextContent(text=text) for text in texts])


def _client(context: Context) -> str:
    known = context.session.client_params
    return one_line(safe(known.client_info.name), 60) if known is not None else "an MCP client"


def _progress(context: Context) -> Progress:
    session = context.session

    async def tell(number: float, text: str) -> None:
        await session.report_progress(number, message=text)

    return Progress(tell)


async def _roots(
    context: Context, params: CallToolRequestParams, asked: Asked
) -> list[str] | InputRequiredResult:
    """The folders that the client lets us open; none where it has given none. Or what asks it for them."""
    from mcp_types import InputRequiredResult, ListRootsRequest, ListRootsResult
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    able = context.session.client_capabilities
    if not (isinstance(asked, OpenContext) and asked.path) or able is None or able.roots is None:
        return []
    if context.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
        given = (params.input_responses or {}).get(_ROOTS)
        if given is None:
            return InputRequiredResult(input_requests={_ROOTS: ListRootsRequest()})
        if not isinstance(given, ListRootsResult):
            raise Refused("open_context: the client has answered something else than its roots")
        return _folders(given)
    return _folders(await _asked_for(context))


async def _asked_for(context: Context) -> ListRootsResult:
    from mcp.shared.exceptions import MCPError
    from mcp.shared.message import ServerMessageMetadata
    from mcp_types import ListRootsRequest, ListRootsResult
    from pydantic import ValidationError

    try:
        async with asyncio.timeout(ROOTS_SECONDS):
            return await context.session.send_request(
                ListRootsRequest(),
                ListRootsResult,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
    except (TimeoutError, MCPError, ValidationError) as error:
        why = "in time" if isinstance(error, TimeoutError) else "as the protocol has it"
        raise Refused(f"open_context: the client has roots and did not tell them {why}") from None


def _folders(given: ListRootsResult) -> list[str]:
    folders = folders_of(str(root.uri) for root in given.roots)
    if given.roots and not folders:
        raise Refused("open_context: none of the client's roots is a folder of this machine")
    return folders
