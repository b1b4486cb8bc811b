from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.chat import provider as providers

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.chat.options import Options

KEY = "sk-nobody-may-see-this-0123456789"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Ask with a key of our own, wait for nothing, and let the connections go afterwards."""
    made: list[providers.Provider] = []
    begin = providers.Provider.__init__

    def noted(self: providers.Provider, options: Options, base_url: str = "") -> None:
        begin(self, options, base_url)
        made.append(self)

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(providers, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(providers.Provider, "__init__", noted)
    providers.provider_of.cache_clear()
    yield
    for one in made:
        one.close()
    providers.provider_of.cache_clear()
