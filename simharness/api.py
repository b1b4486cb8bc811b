"""The surface for authors of products: everything that a product file needs, under one name."""

from simharness.errors import HarnessError, UsageError
from simharness.kernel.calendar import format_instant, parse_instant
from simharness.kernel.draws import Draws, Stream
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.kernel.zones import (
    ZONE_RULES,
    ZONES_RELEASE,
    Zone,
    format_local,
    offset_by,
    zone,
    zone_names,
)
from simharness.parts import evidence, money
from simharness.parts.clock import Clock
from simharness.parts.gateway import Gateway, Manner
from simharness.parts.hold import Holds
from simharness.parts.lease import Grant, Leases
from simharness.parts.ledger import Movement
from simharness.parts.outbox import Message, Outbox
from simharness.parts.payment import GATEWAY_EVENTS, Reply, Request
from simharness.parts.queue import JobQueue
from simharness.parts.reaction import Reaction, Reactions
from simharness.parts.refusal import Refused
from simharness.parts.row import Instant, Row
from simharness.parts.row_name import Prefix
from simharness.parts.sweep import Sweep
from simharness.parts.table import Change, Table
from simharness.parts.transaction import Basis, Transaction
from simharness.parts.users import Population, later, scaled
from simharness.parts.webhook import Inbox, Notice, Webhook
from simharness.parts.where import between, every, where
from simharness.product import asking, knobs
from simharness.product.fault import Fault, Trigger
from simharness.product.goal import MILLION, Criterion, Ending
from simharness.product.operations import operation
from simharness.product.paid import Paid
from simharness.product.policy import Action, Call, Observation, Policy, Task
from simharness.product.product import Product
from simharness.product.scenario import Drawing, Instance, Scenario
from simharness.product.showcase import Showcase
from simharness.product.store import Edit, Store, query, store
from simharness.product.tool import (
    Answer,
    Bounds,
    Page,
    ToolSpec,
    local_tool,
    paged,
    tool,
    write_tool,
)
from simharness.product.wiring import (
    bind_gateway,
    bind_outbox,
    bind_queue,
    bind_sweep,
    bind_webhook,
    gateway_knobs,
    outbox_knobs,
    queue_knobs,
    refund_knobs,
    sweep_knobs,
    webhook_knobs,
)
from simharness.sandbox import surface as sandbox
from simharness.units import DAY, HOUR, MINUTE, MS, SECOND

__all__ = [
    "DAY",
    "GATEWAY_EVENTS",
    "HOUR",
    "MILLION",
    "MINUTE",
    "MS",
    "SECOND",
    "ZONES_RELEASE",
    "ZONE_RULES",
    "Action",
    "Actor",
    "Answer",
    "Basis",
    "Bounds",
    "Call",
    "Change",
    "Clock",
    "Criterion",
    "Drawing",
    "Draws",
    "Edit",
    "Ending",
    "Fault",
    "Gateway",
    "Grant",
    "HarnessError",
    "Holds",
    "Inbox",
    "Instance",
    "Instant",
    "JobQueue",
    "Leases",
    "Manner",
    "Message",
    "Movement",
    "Notice",
    "Observation",
    "Operation",
    "Outbox",
    "Page",
    "Paid",
    "Policy",
    "Population",
    "Prefix",
    "Product",
    "Reaction",
    "Reactions",
    "Refused",
    "Reply",
    "Request",
    "Row",
    "Scenario",
    "Showcase",
    "Store",
    "Stream",
    "Sweep",
    "Table",
    "Task",
    "ToolSpec",
    "Transaction",
    "Trigger",
    "UsageError",
    "Webhook",
    "World",
    "Zone",
    "asking",
    "between",
    "bind_gateway",
    "bind_outbox",
    "bind_queue",
    "bind_sweep",
    "bind_webhook",
    "every",
    "evidence",
    "format_instant",
    "format_local",
    "gateway_knobs",
    "knobs",
    "later",
    "local_tool",
    "money",
    "offset_by",
    "operation",
    "outbox_knobs",
    "paged",
    "parse_instant",
    "query",
    "queue_knobs",
    "refund_knobs",
    "sandbox",
    "scaled",
    "store",
    "sweep_knobs",
    "tool",
    "webhook_knobs",
    "where",
    "write_tool",
    "zone",
    "zone_names",
]
