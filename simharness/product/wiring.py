"""Knobs of the parts that a product may have, and how they are bound to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.product import knobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from simharness.parts.gateway import Gateway
    from simharness.parts.outbox import Outbox
    from simharness.parts.queue import JobQueue
    from simharness.parts.sweep import Sweep
    from simharness.parts.webhook import Inbox, Webhook
    from simharness.product.knobs import Knob
    from simharness.product.product import Product


def webhook_knobs(name: str = "webhook", kinds: Iterable[str] = ()) -> tuple[Knob, ...]:
    """Make the knobs of one webhook and of the inbox behind it; `kinds` are those of its events."""
    every = tuple(kinds)
    return (
        knobs.span(f"{name}.delay", "0s", "wait from the making of an event to its arrival"),
        knobs.choice(f"{name}.order", ("fifo", "any"), "whether events may overtake each other"),
        knobs.count(f"{name}.duplicates", 0, "further deliveries of each event"),
        knobs.count(f"{name}.attempts", 8, "attempts after which an event is given up", low=1),
        knobs.duration(f"{name}.backoff", "1s", "wait until the second attempt; it doubles"),
        knobs.duration(f"{name}.timeout", "10s", "time for an answer; 0s for ever"),
        knobs.words(f"{name}.events", every, "kinds that the app listens to; all if none is named"),
        knobs.words(f"{name}.lost", every, "kinds that are noted as sent and never are"),
        knobs.flag(f"{name}.dedupe", True, "an event is applied once, however often it comes"),
        knobs.choice(
            f"{name}.apply",
            ("newest", "last_arrived"),
            "whether an event is ignored that is older than one already applied",
        ),
    )


def bind_webhook(product: Product, hook: Webhook, inbox: Inbox, name: str = "webhook") -> None:
    """Keep a webhook and its inbox as their knobs say; both can be ablated."""
    settings = product.settings
    for attribute in ("delay", "order", "duplicates", "attempts", "backoff", "timeout", "lost"):
        settings.bind(f"{name}.{attribute}", hook, attribute)
    settings.bind(f"{name}.events", hook, "kinds")
    settings.bind(f"{name}.dedupe", inbox, "dedupe")
    settings.bind(f"{name}.apply", inbox, "apply")
    product.repairable += [f"webhook:{hook.name}", f"inbox:{inbox.name}"]


def gateway_knobs(name: str = "gateway") -> tuple[Knob, ...]:
    """Make the knobs of one payment gateway; its webhook has its own."""
    return (
        knobs.spans(f"{name}.latency", "0s", "wait for an answer of the gateway, one a call"),
        knobs.choices(
            f"{name}.mode",
            ("ok", "fail", "async_fail"),
            "what becomes of what the gateway is asked for, one a call: it is done, fails, or is "
            "accepted and fails later",
        ),
        knobs.duration(f"{name}.settle_after", "0s", "time from the acceptance to the end"),
        knobs.duration(
            f"{name}.timeout", "80s", "time for which an answer is waited for; 0s: ever"
        ),
        knobs.choice(
            f"{name}.retry",
            ("with_key", "new_key", "none"),
            "what the app does without an answer: it asks again, under another key, or gives up",
        ),
        knobs.count(f"{name}.attempts", 3, "how often the app asks", low=1),
        knobs.duration(f"{name}.backoff", "1s", "wait until the second attempt; it doubles"),
        knobs.choice(
            f"{name}.idempotency", ("key", "none"), "whether a known key repeats the request"
        ),
        knobs.choice(
            f"{name}.idempotency.scope",
            ("account", "session", "call"),
            "what is joined to a key: nothing, the actor, or the call",
        ),
        knobs.duration(f"{name}.idempotency.retention", "24h", "time until a key is forgotten"),
        knobs.flag(f"{name}.idempotency.bind_body", True, "a known key refuses another body"),
        knobs.choice(
            f"{name}.minor_units",
            ("iso", "always_100"),
            "whether amounts are sent as if every currency had two digits",
        ),
    )


SOUND_GATEWAY = {
    "retry": "with_key",
    "idempotency": "key",
    "idempotency.scope": "account",
    "idempotency.bind_body": True,
    "minor_units": "iso",
}
"""What a repaired gateway is kept at. That it fails, is slow or settles late is no defect."""


def bind_gateway(
    product: Product,
    gateway: Gateway,
    name: str = "gateway",
    sound: Mapping[str, object] | None = None,
) -> None:
    """Keep a payment gateway as its knobs say; it can be ablated.

    `sound` names knobs of the product's own that decide about money, as `{"refund.check":
    "atomic"}`, with the values that they are kept at when the gateway is repaired.
    """
    settings = product.settings
    for attribute in (
        "latency",
        "mode",
        "settle_after",
        "timeout",
        "retry",
        "attempts",
        "backoff",
        "idempotency",
        "minor_units",
    ):
        settings.bind(f"{name}.{attribute}", gateway, attribute)
    for attribute in ("scope", "retention", "bind_body"):
        settings.bind(f"{name}.idempotency.{attribute}", gateway, attribute)
    kept = {f"{name}.{key}": value for key, value in SOUND_GATEWAY.items()} | {**(sound or {})}
    mechanism = f"gateway:{gateway.name}"
    product.repairable.append(mechanism)
    product.sound[mechanism] = {key: settings.knobs[key].read(value) for key, value in kept.items()}


def sweep_knobs(name: str = "gateway") -> tuple[Knob, ...]:
    """Make the knob of an app's sweeps over what it has asked its payment gateway for."""
    return (
        knobs.duration(
            f"{name}.sweep",
            "0s",
            "time without news after which the app asks what became of a request; 0s: never",
        ),
    )


def bind_sweep(product: Product, sweep: Sweep, name: str = "gateway") -> None:
    """Keep the sweep over one table as its knob says."""
    product.settings.bind(f"{name}.sweep", sweep, "after")


def refund_knobs() -> tuple[Knob, ...]:
    """Make the knob of when an app books what it pays back."""
    return (
        knobs.choice(
            "refund.books",
            ("after_gateway", "before_gateway"),
            "whether a refund is booked as succeeded once the gateway says so, or at once (a "
            "defect)",
        ),
    )


def queue_knobs(name: str) -> tuple[Knob, ...]:
    """Make the knobs of one job queue."""
    return (
        knobs.count(f"{name}.workers", 1, "jobs that are worked on at a time", low=1),
        knobs.choice(f"{name}.order", ("fifo", "any"), "which waiting job is next"),
        knobs.count(f"{name}.length", "none", "waiting jobs beyond which they are dropped"),
        knobs.count(f"{name}.attempts", 5, "attempts after which a job is dead", low=1),
        knobs.duration(f"{name}.backoff", "1s", "wait until the second attempt; it doubles"),
        knobs.duration(
            f"{name}.visibility", "30s", "time after which a silent worker is taken for dead"
        ),
        knobs.flag(f"{name}.heartbeat", True, "workers say in time that they are still at it"),
    )


def bind_queue(product: Product, queue: JobQueue[Any], name: str) -> None:
    """Keep a job queue as its knobs say."""
    for attribute in (
        "workers",
        "order",
        "length",
        "attempts",
        "backoff",
        "visibility",
        "heartbeat",
    ):
        product.settings.bind(f"{name}.{attribute}", queue, attribute)
    product.repairable.append(f"queue:{queue.name}")


def outbox_knobs(name: str = "outbox") -> tuple[Knob, ...]:
    """Make the knobs of one outbox."""
    return (
        knobs.span(f"{name}.latency", "0s", "wait before a message is handed on"),
        knobs.span(f"{name}.ack", "0s", "wait until it is noted as handed on"),
        knobs.flag(f"{name}.early", False, "hand a message on although it isn't committed yet"),
        knobs.count(f"{name}.loss", 0, "messages in a million that are lost"),
    )


def bind_outbox(product: Product, outbox: Outbox, name: str = "outbox") -> None:
    """Keep an outbox as its knobs say; it can be ablated."""
    for attribute in ("latency", "ack", "early", "loss"):
        product.settings.bind(f"{name}.{attribute}", outbox, attribute)
    product.repairable.append(f"outbox:{outbox.name}")
