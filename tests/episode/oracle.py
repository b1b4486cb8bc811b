"""The workshop with somebody outside of it who is asked questions."""

from __future__ import annotations

from typing import ClassVar

from simharness.api import SECOND, Answer, Instance, Operation, tool
from simharness.errors import SandboxFailed
from tests.episode.workshop import Shift, Workshop


class Consulted(Shift):
    """Ask once before the episode begins."""

    id = "oracle/consulted"

    def start(self, product: Workshop, instance: Instance) -> int:
        """Ask, and sign in as nobody."""
        assert isinstance(product, Oracle)
        product.ask("start")
        return super().start(product, instance)


class Oracle(Workshop):
    """A workshop with a tool that asks."""

    name = "oracle"
    asked: ClassVar[list[str]] = []
    """What really went outside, in this process."""
    loud = True
    """Whether it answers in capitals."""
    scenarios: ClassVar = (Shift(), Consulted())  # type: ignore[assignment]

    def ask(self, question: str) -> str:
        """Ask, or know already."""

        def answer() -> bytes:
            self.asked.append(question)
            if question == "broken":
                raise SandboxFailed("the oracle is gone", "")
            return (question.upper() if self.loud else question).encode()

        return self.world.outside.ask("oracle", question.encode(), answer).decode()

    @tool
    def consult(self, op: Operation, question: str) -> Answer[dict[str, str]]:
        """Ask a question."""
        yield self.world.timer(SECOND)
        return {"answer": self.ask(question)}
