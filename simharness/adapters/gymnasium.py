"""The scenarios as Gymnasium environments; to import this module registers them.

An id is `simharness/Crm-Negotiation-v0` for `crm/negotiation`, and `simharness/Scenario-v0` takes
any other by `scenario=`. Actions and observations are text: a tool call as JSON, and its answer.

A cut episode has the reward NaN, which no mean can take for a number, and ends with
`info["valid"]` false.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from simharness.adapters.calls import action_of
from simharness.adapters.episodes import Episodes, text_of
from simharness.errors import UnknownName, UsageError
from simharness.extras import absent
from simharness.product.registry import load_product, product_names

try:
    import gymnasium as gym
    from gymnasium import spaces
    from gymnasium.error import CustomSpaceError
    from gymnasium.vector import utils as vector_utils
except ImportError as error:
    raise absent("gymnasium", error, "gymnasium") from error

if TYPE_CHECKING:
    from simharness.blame.verdict import Verdict

NAMESPACE = "simharness"
ANY = f"{NAMESPACE}/Scenario-v0"
ACTION_MAX = 65_536
"""Characters of an action."""
TOLD_MAX = 1 << 20
"""Characters of an observation; a page of rows has less than 8,000."""
# A string, because a set has another order in each process.
CHARACTERS = "".join(map(chr, [*range(9, 14), *range(32, 127)]))


class Told(spaces.Text):
    """Texts that the agent is told: ASCII, of up to `TOLD_MAX` characters."""

    def __init__(self) -> None:
        super().__init__(TOLD_MAX, min_length=0, charset=CHARACTERS)


def no_shared_memory(space: Told, n: int = 1, ctx: object = None) -> NoReturn:
    """Refuse it: an AsyncVectorEnv reads texts out of shared memory once, when it is made.

    Its observations would be those of the start for ever.
    """
    raise CustomSpaceError(
        "texts in shared memory are never read again; "
        "give vector_kwargs={'shared_memory': False} to make_vec"
    )


# Their types leave parts out.
untyped_gym: Any = gym
untyped_utils: Any = vector_utils
untyped_utils.create_shared_memory.register(Told, no_shared_memory)


class SimharnessEnv(gym.Env[str, str]):
    """One scenario, played by text.

    An action is `{"name": TOOL, "arguments": {...}}`, a list of such calls, which are sent at
    once, or anything else as plain text. A bad call is answered with an error, as by the tools.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(self, scenario: str, render_mode: str | None = None, **settings: Any) -> None:
        """Take a scenario and what `adapters.episodes.Episodes` takes: load, faults, on_harness...

        Raises UsageError.
        """
        self.episodes = Episodes(scenario, **settings)
        self.render_mode = render_mode
        self.action_space = spaces.Text(ACTION_MAX, min_length=0, charset=CHARACTERS)
        self.observation_space = Told()
        self._shown = ""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the episode that was begun last; None while it goes on."""
        return self.episodes.env.verdict

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode: that of `seed`, of `options["seed"]` (`eval:7`), or of a drawn one.

        What is drawn is from the seeds to learn from. The observation is the prompt.
        """
        chosen: int | str | None = seed
        if options:
            chosen = seed_of(options, seed)
        super().reset(seed=seed)
        if chosen is None:
            train = self.episodes.scenario.train
            chosen = int(self.np_random.integers(train.start, train.stop))
        start = self.episodes.begin(chosen)
        self._shown = fitted(start.prompt)
        return self._shown, {
            "seed": self.episodes.env.plan.seed,
            "episode_id": start.episode_id,
            "t": start.t,
            # A text of its own each time: the wrappers of vectors would merge the fields of maps.
            "tools": json.dumps(start.tools),
        }

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Send an action, which is a text.

        Raises UsageError for anything else, and HarnessUnhealthy once the breaker has stopped this
        process.
        """
        if not isinstance(action, str):
            raise UsageError(
                f"an action is a text, got {action!r:.80}",
                'give a call as JSON, {"name": TOOL, "arguments": {...}}, or plain text',
            )
        step = self.episodes.step(action_of(action))
        self._shown = fitted(text_of(step.observation))
        info: dict[str, Any] = {
            "t": step.observation.t,
            "step": step.info["step"],
            "digest": step.info["digest"],
        }
        if step.terminated or step.truncated:
            verdict = step.info["verdict"]
            info |= {
                "valid": step.info["valid"],
                "class": verdict["class"],
                "primary": verdict["primary"],
                "sentence": verdict["sentence"],
            }
        reward = math.nan if step.reward is None else step.reward
        return self._shown, reward, step.terminated, step.truncated, info

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Give what the agent was told last, with the render mode `ansi`."""
        return self._shown if self.render_mode == "ansi" else None


def seed_of(options: dict[str, Any], seed: int | None) -> int | str | None:
    """Give the seed that options name, if any. Raises UsageError for anything else that they do."""
    if unknown := [name for name in options if name != "seed"]:
        raise UnknownName.among("option of reset", str(unknown[0]), ["seed"])
    chosen: int | str | None = options.get("seed")
    if chosen is not None and seed is not None and chosen != seed:
        raise UsageError(
            f"reset was given the seed {seed} and the seed {chosen!r} among its options",
            "give one of them",
        )
    return seed if chosen is None else chosen


def fitted(text: str) -> str:
    """Give a text that the space holds: ASCII, and cut with a note if it is too long."""
    text = text.encode("ascii", "backslashreplace").decode("ascii")
    if len(text) <= TOLD_MAX:
        return text
    note = f"\n[cut: {len(text)} characters are more than {TOLD_MAX}; ask for less at once]"
    return text[: TOLD_MAX - len(note)] + note


def env_id(scenario: str) -> str:
    """Name the environment of a registered scenario: `simharness/Crm-Negotiation-v0`."""
    product, slug = (
        "".join(word.capitalize() for word in part.split("-")) for part in scenario.split("/")
    )
    return f"{NAMESPACE}/{product}-{slug}-v0"


def register_all() -> None:
    """Register the scenarios of all products, again where they are."""
    entry_point = f"{__name__}:{SimharnessEnv.__name__}"
    names = {env_id(s.id): s.id for name in product_names() for s in load_product(name).scenarios}
    for identifier, scenario in names.items():
        if identifier not in gym.registry:
            untyped_gym.register(identifier, entry_point, kwargs={"scenario": scenario})
    if ANY not in gym.registry:
        untyped_gym.register(ANY, entry_point)


register_all()
