"""The sandboxes by name."""

from __future__ import annotations

import pytest

from unspool import RLM
from unspool.errors import WrongSetting
from unspool.sandbox.shared import chosen, new_sandbox, shared_sandbox
from unspool.testing import ScriptedModel


def test_the_default_is_among_the_names_that_an_error_lists() -> None:
    with pytest.raises(
        WrongSetting, match="use auto, process, seatbelt, none, jupyter, command:… or a Sandbox"
    ):
        RLM(ScriptedModel([]), sandbox="nowhere")


async def test_auto_is_the_sandbox_that_it_chooses() -> None:
    assert shared_sandbox("auto") is shared_sandbox(chosen("auto"))
    sandbox = new_sandbox("auto")
    assert type(sandbox) is type(shared_sandbox(chosen("auto")))
    await sandbox.close()
