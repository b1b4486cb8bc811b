"""Knobs of the parts that a product may have, and how they are bound to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.product import knobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.parts.outbox import Outbox
    from simharness.parts.queue import JobQueue
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
