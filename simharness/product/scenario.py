"""A scenario: a task family of a product.

A seed draws the instance; the instance decides start, people and prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from simharness.errors import UnknownName, UsageError
from simharness.kernel.calendar import instant
from simharness.kernel.draws import Stream
from simharness.product.goal import score
from simharness.units import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from simharness.kernel.draws import Draws
    from simharness.kernel.operation import Operation
    from simharness.parts.row import Row
    from simharness.product.goal import Criterion, Ending
    from simharness.product.policy import Policy
    from simharness.product.product import Product

P = TypeVar("P", bound="Product")
T = TypeVar("T")

Value = int | str | bool
Instance = dict[str, Value]
"""What a seed drew, by name; every value can be pinned."""


class Drawing:
    """Draws the values of an instance by name; pinned values are taken as they are."""

    __slots__ = ("_pins", "_stream", "_unused", "values")

    def __init__(self, stream: Stream, pins: Mapping[str, Value]) -> None:
        self._stream = stream
        self._pins = pins
        self._unused = dict(pins)
        self.values: Instance = {}

    def below(self, name: str, bound: int) -> int:
        """Draw `0 .. bound - 1` under a name."""
        return self.between(name, 0, bound - 1)

    def between(self, name: str, low: int, high: int) -> int:
        """Draw `low .. high` under a name. Raises UsageError for a pin outside that range."""
        pinned = self._pin(name)
        if pinned is None:
            value = self._stream.between(low, high, f"instance/{name}")
        elif type(pinned) is int and low <= pinned <= high:
            value = pinned
        else:
            raise UsageError(
                f"instance.{name} = {pinned!r} is out of range", f"give {low} to {high}"
            )
        self.values[name] = value
        return value

    def pick(self, name: str, options: Sequence[str], weights: Sequence[int] | None = None) -> str:
        """Draw one of some words under a name.

        Raises UsageError for a pin that isn't one of them.
        """
        pinned = self._pin(name)
        if pinned is None:
            purpose = f"instance/{name}"
            index = (
                self._stream.below(len(options), purpose)
                if weights is None
                else self._stream.weighted(weights, purpose)
            )
            value = options[index]
        elif pinned in options and isinstance(pinned, str):
            value = pinned
        else:
            raise UsageError(
                f"instance.{name} = {pinned!r} is not possible", "give " + ", ".join(options)
            )
        self.values[name] = value
        return value

    def text(self, name: str) -> str:
        """Take a text that has to be pinned. Raises UsageError where it isn't."""
        pinned = self._pin(name)
        if not isinstance(pinned, str):
            raise UsageError(f"instance.{name} is not given", "it can't be drawn; give a text")
        self.values[name] = pinned
        return pinned

    def finish(self) -> Instance:
        """Give the instance. Raises UnknownName for a pin that nothing asked for."""
        for name in self._unused:
            raise UnknownName.among("instance value", name, self.values)
        return self.values

    def _pin(self, name: str) -> Value | None:
        self._unused.pop(name, None)
        return self._pins.get(name)


class Scenario(Generic[P]):
    """Base class of task families; one object serves all episodes and keeps no state of any."""

    id: ClassVar[str] = ""
    """`product/slug`."""
    doc: ClassVar[str] = ""
    """What full reward means, in a sentence; the code of `goal` is the same sentence."""
    profile: ClassVar[str] = "production"
    epoch: int = instant(2026, 3, 2, 9)
    """The instant of tick 0."""
    steps_max: ClassVar[int] = 60
    ticks_max: ClassVar[int] = 2 * HOUR
    settle_max: ClassVar[int] = 600 * SECOND
    """Longest time for which effects under way are waited for before grading."""
    pass_mark: ClassVar[int] = 1_000_000
    """Reward in millionths from which an episode passes."""
    team: ClassVar[int] = 20
    """Background users at load 1."""
    agent: ClassVar[str] = "agent"
    """Owner of the agent's operations."""
    graded_at_reset: ClassVar[bool] = True
    """Whether a goal that holds before anything was done is put on record, as a finding."""
    train: ClassVar[range] = range(2**31)
    """Seeds to learn from."""
    eval: ClassVar[range] = range(2**31, 2**32)
    """Seeds to be judged by; none of them is in `train`."""
    policies: ClassVar[Mapping[str, Policy]] = {}
    """Scripted policies of this scenario; `expert` is the reference."""
    honest: ClassVar[tuple[str, ...]] = ("lazy",)
    """Those beside the reference that do the job, if badly, and so may be paid."""

    def profile_for(self, profiles: Collection[str]) -> str:
        """Give the knob profile of sound episodes; `bare` for a product that has no other."""
        return self.profile if self.profile in profiles else "bare"

    def seeds_of(self, split: str) -> range:
        """Give the seeds of a split, `train` or `eval`.

        Raises UnknownName for another one, UsageError where the two have a seed in common.
        """
        train, judged = self.train, self.eval
        if {train.step, judged.step} != {1} or (
            max(train.start, judged.start) < min(train.stop, judged.stop)
        ):
            raise UsageError(
                f"scenario {self.id!r} has train seeds {train} and eval seeds {judged}",
                f"give ranges of step 1 that have no seed in common in {type(self).__name__}",
            )
        splits = {"train": train, "eval": judged}
        if split not in splits:
            raise UnknownName.among("split", split, splits)
        return splits[split]

    def bound(self, pins: Mapping[str, Value]) -> Scenario[P]:
        """Give the scenario of one episode: itself, unless its start is written in the pins."""
        return self

    def _undefined(self, method: str) -> UsageError:
        return UsageError(
            f"scenario {self.id!r} has no {method}()", f"define it in {type(self).__name__}"
        )

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the rows that all instances start from, by table."""
        raise self._undefined("base_rows")

    def draw(self, drawing: Drawing) -> None:
        """Draw the instance."""
        raise self._undefined("draw")

    def start(self, product: P, instance: Instance) -> int:
        """Put the instance's own rows into place.

        Gives the row id that the agent is signed in as.
        """
        raise self._undefined("start")

    def people(self, product: P, instance: Instance) -> None:
        """Start the background users and whatever else acts."""

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        raise self._undefined("prompt")

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt as data, for scripted policies.

        Nothing that the prompt doesn't say.
        """
        raise self._undefined("brief")

    def goal(self, product: P, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge the final hidden truth."""
        raise self._undefined("goal")

    def pay(self, product: P, instance: Instance, criteria: tuple[Criterion, ...]) -> int | None:
        """Give the reward in millionths where the harness pays by the goal; None: it can't tell."""
        return score(criteria) if criteria else None

    # --- what a scenario may listen to ------------------------------------------------------------

    def sent(self, step: int) -> None:
        """Hear that the agent's calls of a step have begun."""

    def answered(self, op: Operation, ok: bool, value: object) -> None:
        """Hear of the answer to a call of the agent's."""


def instance_of(scenario: Scenario[Any], draws: Draws, pins: Mapping[str, Value]) -> Instance:
    """Draw the instance of a scenario, but for the values that are given.

    Raises UsageError for a value that isn't possible.
    """
    drawing = Drawing(Stream(draws, "instance", 0), pins)
    scenario.draw(drawing)
    return drawing.finish()
