"""Knobs of queues, outboxes, webhooks and gateways reach their parts, also by a fault's patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.parts.gateway import Gateway
from simharness.parts.outbox import Outbox
from simharness.parts.queue import JobQueue
from simharness.parts.webhook import Inbox, Webhook
from simharness.product.knobs import Knob, Settings, read_config
from simharness.product.wiring import (
    bind_gateway,
    bind_outbox,
    bind_queue,
    bind_webhook,
    gateway_knobs,
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
        *gateway_knobs(),
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
        self.gateway = Gateway(world, self.webhook, "till")
        self.before = self.state()
        bind_outbox(self.shop, self.outbox)
        bind_webhook(self.shop, self.webhook, self.inbox)
        bind_queue(self.shop, self.queue, "jobs")
        bind_gateway(self.shop, self.gateway, sound={"jobs.order": "fifo"})

    def state(self) -> list[dict[str, Any]]:
        parts = (self.outbox, self.webhook, self.inbox, self.queue, self.gateway)
        names = (
            ("latency", "ack", "early", "loss"),
            ("delay", "order", "duplicates", "attempts", "backoff", "timeout", "lost", "kinds"),
            ("dedupe", "apply"),
            ("workers", "order", "length", "attempts", "backoff", "visibility", "heartbeat"),
            (
                "latency",
                "mode",
                "settle_after",
                "timeout",
                "retry",
                "attempts",
                "backoff",
                "idempotency",
                "scope",
                "retention",
                "bind_body",
                "minor_units",
            ),
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
        "gateway.latency": [["35s"], ["1s", "2s"]],
        "gateway.mode": ["fail", "ok"],
        "gateway.settle_after": "7s",
        "gateway.timeout": "0s",
        "gateway.retry": "new_key",
        "gateway.attempts": 5,
        "gateway.backoff": "8s",
        "gateway.idempotency": "none",
        "gateway.idempotency.scope": "call",
        "gateway.idempotency.retention": "1min",
        "gateway.idempotency.bind_body": False,
        "gateway.minor_units": "always_100",
    }
    assert config.keys() == ALL.keys()
    patch = read_config(ALL, config, "a fault")
    parts.settings.patch(patch)
    for state, before in zip(parts.state(), parts.before, strict=True):
        assert all(state[name] != before[name] for name in before)
    assert parts.webhook.delay == (3 * SECOND, 3 * SECOND)
    assert (parts.webhook.kinds, parts.webhook.lost) == (("paid",), ("failed",))
    assert parts.gateway.latency == ((35 * SECOND, 35 * SECOND), (SECOND, 2 * SECOND))
    assert parts.gateway.mode == ("fail", "ok")
    parts.settings.unpatch(patch)
    assert parts.state() == parts.before


def test_what_is_bound_can_be_repaired() -> None:
    shop = Parts().shop
    mechanisms = shop.mechanisms()
    for name in ("outbox:outbox", "webhook:hook", "inbox:books", "queue:jobs", "gateway:till"):
        assert name in mechanisms
    assert mechanisms[-2:] == ["background", "reward"]


def test_a_repaired_gateway_is_sound_whatever_is_patched_and_fails_as_before() -> None:
    parts = Parts()
    gateway = parts.gateway
    parts.shop.repair(["gateway:till"])
    config = {
        "gateway.retry": "new_key",
        "gateway.idempotency": "none",
        "gateway.idempotency.scope": "call",
        "gateway.idempotency.bind_body": False,
        "gateway.minor_units": "always_100",
        "gateway.mode": "fail",
        "jobs.order": "any",
    }
    parts.settings.patch(read_config(ALL, config, "a fault"))
    assert (gateway.retry, gateway.idempotency, gateway.scope) == ("with_key", "key", "account")
    assert (gateway.bind_body, gateway.minor_units) == (True, "iso")
    assert parts.queue.order == "fifo"  # the product's own, which it has named
    assert gateway.mode == ("fail",)


@pytest.mark.parametrize(
    ("value", "spans"),
    [
        ("1s", ((1, 1),)),
        (["1s", "2s"], ((1, 2),)),
        ([["1s", "2s"]], ((1, 2),)),
        ([["1s"], "2s", ["3s", "4s"]], ((1, 1), (2, 2), (3, 4))),
    ],
)
def test_waits_are_one_for_all_calls_or_one_for_each(
    value: object, spans: tuple[tuple[int, int], ...]
) -> None:
    wanted = tuple((low * SECOND, high * SECOND) for low, high in spans)
    assert ALL["gateway.latency"].read(value) == wanted
