"""Knobs of queues, outboxes and webhooks reach their parts, also when a fault patches them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.parts.outbox import Outbox
from simharness.parts.queue import JobQueue
from simharness.parts.webhook import Inbox, Webhook
from simharness.product.knobs import Knob, Settings, read_config
from simharness.product.wiring import (
    bind_outbox,
    bind_queue,
    bind_webhook,
    outbox_knobs,
    queue_knobs,
    webhook_knobs,
)
from simharness.units import SECOND
from tests.product.conftest import Bench

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.parts.reaction import Reaction

ALL: dict[str, Knob] = {
    knob.key: knob
    for knob in (
        *outbox_knobs(),
        *webhook_knobs(kinds=("paid", "failed")),
        *queue_knobs("jobs"),
    )
}


def nothing(op: Reaction, what: object) -> Generator[Event, Any, None]:
    yield from ()


class Parts:
    """A shop with one of each part, bound to their knobs."""

    def __init__(self) -> None:
        self.shop = Bench({}).shop
        world = self.shop.world
        values = {key: knob.read(knob.default) for key, knob in ALL.items()}
        self.shop.settings = self.settings = Settings(ALL, values)
        self.outbox = Outbox(world)
        self.webhook = Webhook(world, "hook", nothing)
        self.inbox = Inbox(world, "books")
        self.queue: JobQueue[int] = JobQueue(world, "jobs", nothing)
        self.before = self.state()
        bind_outbox(self.shop, self.outbox)
        bind_webhook(self.shop, self.webhook, self.inbox)
        bind_queue(self.shop, self.queue, "jobs")

    def state(self) -> list[dict[str, Any]]:
        parts = (self.outbox, self.webhook, self.inbox, self.queue)
        names = (
            ("latency", "ack", "early", "loss"),
            ("delay", "order", "duplicates", "attempts", "backoff", "timeout", "lost", "kinds"),
            ("dedupe", "apply"),
            ("workers", "order", "length", "attempts", "backoff", "visibility", "heartbeat"),
        )
        return [
            {name: getattr(part, name) for name in chosen}
            for part, chosen in zip(parts, names, strict=True)
        ]


def test_the_defaults_of_the_knobs_are_those_of_the_parts() -> None:
    parts = Parts()
    assert parts.state() == parts.before


def test_every_knob_moves_its_part_and_lets_it_go_again() -> None:
    parts = Parts()
    config = {
        "outbox.latency": "1s",
        "outbox.ack": ["1s", "2s"],
        "outbox.early": True,
        "outbox.loss": 5,
        "webhook.delay": "3s",
        "webhook.order": "any",
        "webhook.duplicates": 2,
        "webhook.attempts": 3,
        "webhook.backoff": "4s",
        "webhook.timeout": "0s",
        "webhook.events": ["paid"],
        "webhook.lost": ["failed"],
        "webhook.dedupe": False,
        "webhook.apply": "last_arrived",
        "jobs.workers": 2,
        "jobs.order": "any",
        "jobs.length": 7,
        "jobs.attempts": 1,
        "jobs.backoff": "5s",
        "jobs.visibility": "6s",
        "jobs.heartbeat": False,
    }
    assert config.keys() == ALL.keys()
    patch = read_config(ALL, config, "a fault")
    parts.settings.patch(patch)
    for state, before in zip(parts.state(), parts.before, strict=True):
        assert all(state[name] != before[name] for name in before)
    assert parts.webhook.delay == (3 * SECOND, 3 * SECOND)
    assert (parts.webhook.kinds, parts.webhook.lost) == (("paid",), ("failed",))
    parts.settings.unpatch(patch)
    assert parts.state() == parts.before


def test_what_is_bound_can_be_repaired() -> None:
    shop = Parts().shop
    mechanisms = shop.mechanisms()
    for name in ("outbox:outbox", "webhook:hook", "inbox:books", "queue:jobs"):
        assert name in mechanisms
    assert mechanisms[-2:] == ["background", "reward"]
