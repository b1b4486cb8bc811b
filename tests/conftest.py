"""What all tests share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from simharness.rollout.collector import seldom_collected
from tests import browser as chromium
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser

# How fast examples come says something of the machine and nothing of the code.
settings.register_profile(
    "tests",
    max_examples=times(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Compiling the package is half of what a process of a test does; let them share bytecode.

    Where none may be written beside the sources they would each compile it anew.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "PYTHONDONTWRITEBYTECODE" in os.environ:
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_pool() -> Generator[None]:
    """Let runs be played in the process of the command, unless a test asks for workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMHARNESS_WORKERS", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def seldom() -> Generator[None]:
    """Tests run episodes, and collecting their garbage as usual takes a fifth of the time."""
    with seldom_collected():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = chromium.what_is_missing()
    if missing and os.environ.get(chromium.SWITCH) != "required":
        for item in items:
            if "browser" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    """One browser for whatever tests of pages a process gets: it can't start a second."""
    assert not chromium.what_is_missing(), chromium.what_is_missing()
    with chromium.started() as started:
        yield started
