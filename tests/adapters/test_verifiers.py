"""The example of a taskset: its tools are the scenario's, its reward that of the same calls."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import simharness as sh
from simharness.adapters.health import PROCESS
from simharness.errors import HarnessUnhealthy
from tests.adapters.family import framework
from tests.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Generator

vf = framework("verifiers.v1")
# They come with verifiers, and others than the servers are tested with.
mcp: Any = import_module("mcp")
server: Any = import_module("mcp.server")

EXAMPLE = ROOT / "examples" / "verifiers"
WORKSHOP = f"{Path(__file__).parents[1] / 'episode' / 'workshop.py'}:Workshop/shift"

sys.path.insert(0, str(EXAMPLE))
tasks = framework("simharness_tasks.taskset")
tools = framework("simharness_tasks.tools")
sys.path.remove(str(EXAMPLE))


@pytest.fixture(autouse=True)
def healthy() -> Generator[None]:
    yield
    PROCESS.forget()


def task_of(scenario: str, seeds: str) -> Any:
    config = tasks.ScenarioConfig(id="simharness_tasks", scenario=scenario, seeds=seeds)
    (task,) = tasks.SimharnessTaskset(config).load()
    return task


def score(task: Any, *calls: tuple[str, dict[str, Any]]) -> float:
    """The reward of what a tool server has noted."""
    state = tools.Calls(calls=[(tool, json.dumps(arguments)) for tool, arguments in calls])
    reward: float = asyncio.run(task.score(SimpleNamespace(state=state)))
    return reward


def test_a_task_has_the_prompt_of_its_seed() -> None:
    task = task_of("crm/negotiation", "train:7")
    assert task.data.seed == 7
    assert task.data.prompt == sh.make("crm/negotiation", seed=7).reset().prompt


def test_a_server_offers_the_tools_of_the_scenario_and_plays_its_episode() -> None:
    task = task_of("crm/negotiation", "7")
    served = tools.ScenarioTools(vf.ToolsetConfig())
    env = sh.make("crm/negotiation", seed=7)
    start = env.reset()

    async def play() -> tuple[list[str], str]:
        await served.setup_task(task.data)
        offered = server.MCPServer("tools")
        served.register(offered)
        async with mcp.Client(offered) as client:
            listed = (await client.list_tools()).tools
            told = await client.call_tool("get_deal", {"deal_id": 1})
            return [tool.name for tool in listed], told.content[0].text

    names, told = asyncio.run(play())
    assert names == [tool["name"] for tool in start.tools]
    assert json.loads(told) == env.step(sh.Call("get_deal", {"deal_id": 1})).observation.value


def test_the_reward_is_that_of_the_same_calls() -> None:
    task = task_of(WORKSHOP, "3")
    part = int(task.data.prompt.split()[2])
    done = ("resize", {"part_id": part, "size": 7})
    assert score(task, done, ("finish", {"message": "resized"})) == 1.0
    # Nobody has finished: the agent has gone away.
    assert score(task, done) == 1.0
    assert score(task) == 0.0


def test_a_spoiled_rollout_has_no_reward_and_many_stop_the_evaluation() -> None:
    broken = ("explode", {"after": 1})
    for seed in range(7):
        with pytest.raises(tasks.SpoiledError, match="harness, H810"):
            score(task_of(WORKSHOP, str(seed)), broken)
    with pytest.raises(HarnessUnhealthy, match="8 episodes in a row"):
        score(task_of(WORKSHOP, "7"), broken)


def test_the_checker_of_verifiers_finds_nothing(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("vf-validate")), "simharness_tasks"]
    options = ["--only-noop", "--runtime.type", "subprocess", "--no-rich", "-n", "2"]
    done = subprocess.run(
        [*command, *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(EXAMPLE), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
