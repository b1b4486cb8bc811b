"""A payment gateway: it moves money when asked, and its ledger is the truth of what was moved.

It answers late, fails, settles later than it answers, and tells by webhook what became of a charge
or a refund. A key makes a repeated request the same request: while the first is under way the
second waits for it, and afterwards it gets the same answer, for as long as the key is kept. The
gateway doesn't ask whether a refund is more than what is left of its charge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.kernel.process import Wait
from simharness.parts.ledger import Ledger, Movement, root
from simharness.parts.money import exponent
from simharness.parts.node import UNKNOWN
from simharness.parts.payment import Reply, Request
from simharness.parts.queue import backoff_ticks
from simharness.parts.reaction import Reactions
from simharness.parts.refusal import Refused
from simharness.parts.webhook import Notice
from simharness.units import DAY, SECOND
from simharness.values import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation, Span
    from simharness.kernel.world import World
    from simharness.parts.ledger import Kind
    from simharness.parts.reaction import Reaction
    from simharness.parts.webhook import Webhook


class Manner(NamedTuple):
    """How the gateway deals with one request."""

    mode: str = "ok"
    """ok, fail or async_fail."""
    latency: Span | None = None
    """Wait for its answer; None for the gateway's usual one."""
    settle_after: int | None = None
    """Ticks from an answer `pending` to the end; None for the usual ones."""


class Gateway:
    """One gateway, with the ledger of one product."""

    __slots__ = (
        "_calls",
        "_carried",
        "_count",
        "_created",
        "_keys",
        "_reactions",
        "_requests",
        "attempts",
        "backoff",
        "bind_body",
        "idempotency",
        "latency",
        "ledger",
        "manner",
        "minor_units",
        "mode",
        "name",
        "retention",
        "retry",
        "scope",
        "settle_after",
        "timeout",
        "webhook",
        "world",
    )

    def __init__(self, world: World, webhook: Webhook, name: str = "gateway") -> None:
        self.world = world
        self.webhook = webhook
        """Sends its events."""
        self.name = name
        self.ledger = Ledger(world, name)
        """The truth of what was moved."""
        self.latency: tuple[Span, ...] = ((0, 0),)
        """Wait `gateway` of the first request, the second and so on; the last for all others. What
        is asked for is done at its end."""
        self.mode: tuple[str, ...] = ("ok",)
        """What becomes of the first thing asked for, the second and so on; the last for all
        others. ok; fail: at once; async_fail: accepted, and failed later."""
        self.manner: Callable[[Request], Manner | None] | None = None
        """Asked about each new request: a bank may have a way of its own with some. None: the
        request is dealt with as all others."""
        self.settle_after = 0
        """Ticks from an answer `pending` to the end; what is ok is settled at once if it is 0."""
        self.timeout = 80 * SECOND
        """Ticks for which a caller waits for an answer; 0 for ever."""
        self.retry = "with_key"
        """What the app does when it has waited in vain: with_key: it asks again; new_key: also,
        but as if it asked for something else (a defect); none: it gives up."""
        self.attempts = 3
        """How often the app asks, from 1."""
        self.backoff = SECOND
        """Ticks until the second attempt; doubled for each further one."""
        self.idempotency = "key"
        """key: a key that is known repeats a request; none: keys are ignored (a defect)."""
        self.scope = "account"
        """Whose keys are told apart: account: nobody's; session: each actor's; call: each call's,
        so that only the app's own retries have the same (a defect)."""
        self.retention = DAY
        """Ticks from being sent after which a key is forgotten, once its request is answered."""
        self.bind_body = True
        """Whether a known key with another body is refused as `conflict`."""
        self.minor_units = "iso"
        """iso; always_100: amounts are sent as if all currencies had two digits (a defect)."""
        self._reactions = Reactions(world, name)
        self._keys: dict[tuple[str, str, str], Request] = {}
        self._requests: dict[str, Request] = {}
        self._created: dict[str, int] = {}
        self._calls = 0
        self._carried = 0
        self._count = 0

    # --- asking -----------------------------------------------------------------------------------

    def charge(
        self,
        op: Operation,
        amount: int,
        currency: str,
        ref: str | Callable[[], str],
        *,
        of: str = "",
        key: str = "",
    ) -> Generator[Event, Any, Reply]:
        """Take money.

        Args:
            op: Whoever asks.
            amount: Minor units, from 1.
            currency: An active code.
            ref: The product's row that stands for this charge and for no other, as `charges:1`; or
                a function that makes the row and names it, called unless the request is a repeated
                one, before anything else.
            of: What it is paid for, as `orders:1`.
            key: Tells this request from others; by default the row does.

        Raises:
            Refused: `conflict` for a key that stands for another body; `unknown_outcome` when no
                answer came in time. What was asked for may be done all the same.
        """
        return (yield from self._ask(op, Request("charge", "", of, amount, currency), ref, key))

    def refund(
        self,
        op: Operation,
        charge: str,
        amount: int,
        currency: str,
        ref: str | Callable[[], str],
        *,
        key: str = "",
        method: str = "card",
    ) -> Generator[Event, Any, Reply]:
        """Pay money of a charge back, as `charge` takes it.

        It fails (`no_such_charge`, `wrong_currency`) where the charge hasn't succeeded, or was in
        another currency; sums are the caller's to check. `method` decides about the kind of the
        event that tells of success.
        """
        request = Request("refund", "", charge, amount, currency)
        request.method = method
        return (yield from self._ask(op, request, ref, key))

    def _ask(
        self, op: Operation, wanted: Request, ref: str | Callable[[], str], key: str
    ) -> Generator[Event, Any, Reply]:
        """Send a request, and again if need be."""
        if wanted.amount < 1:
            raise HarnessError(
                f"{op.name} asks for a {wanted.kind} of {wanted.amount}", "refuse it before"
            )
        exponent(wanted.currency)
        wanted.body = digest_of([wanted.kind, wanted.of, wanted.amount, wanted.currency])[:16]
        request = wanted
        for attempt in range(1, self.attempts + 1):
            if attempt > 1:
                yield self.world.timer(backoff_ticks(self.backoff, attempt - 1))
                ref = request.ref
            fresh = f"/{attempt}" if attempt > 1 and self.retry == "new_key" else ""
            request = self._send(op, wanted, ref, key, fresh)
            answer: Reply | None = yield self._hear(request)
            if answer is not None:
                return answer
            if self.retry == "none":
                break
        raise Refused(UNKNOWN, f"the gateway hasn't answered; {request.ref} may be done or not")

    def _hear(self, request: Request) -> Event:
        """Give the event of a request's answer, None when it doesn't come in time."""
        heard = Wait(self.world, f"the gateway's answer for {request.ref}")
        request.waiting.append(heard)
        if self.timeout:

            def give_up(_: Event) -> None:
                if not heard.triggered:
                    heard.succeed(None)

            self.world.after(self.timeout, give_up)
        return heard

    def _send(
        self, op: Operation, wanted: Request, ref: str | Callable[[], str], key: str, fresh: str
    ) -> Request:
        """Send a request, or repeat the one that the key stands for."""
        world = self.world
        number = self._calls
        self._calls += 1
        if key:
            place = self._scope(op), key, fresh
            key += fresh
        else:  # the row is the key
            ref = ref if isinstance(ref, str) else ref()
            place = wanted.kind, ref, fresh
        first = self._first(place)
        request = Request(wanted.kind, "", wanted.of, wanted.amount, wanted.currency)
        request.method, request.body, request.caller = wanted.method, wanted.body, op
        request.until = world.ticks + self.retention
        if first is not None and self.idempotency == "key":
            request.ref = first.ref
            self._begin(request, key, repeated=True)
            if self.bind_body and first.body != request.body:
                self._end(request, "conflict")
                raise Refused("conflict", f"key {key!a:.80} stands for another {first.kind}")
            world.spawn(self._op(request).name, self._repeat(request, first, number))
            return request
        world.alarms += first is not None
        request.ref = ref if isinstance(ref, str) else ref()
        self._count += 1
        request.gateway_ref = f"{request.kind}-{self._count}"
        self._keys[place] = self._requests[request.ref] = request
        self._begin(request, key, repeated=False)
        manner = self.manner(request) if self.manner is not None else None
        if manner is None:
            manner = Manner(self.mode[min(self._carried, len(self.mode) - 1)])
        self._carried += 1
        world.spawn(self._op(request).name, self._carry_out(request, manner, number))
        return request

    def repeats(self, op: Operation, key: str) -> bool:
        """Tell whether a request of a key would repeat one, so that no row is to be made for it."""
        known = bool(key) and self._first((self._scope(op), key, "")) is not None
        return known and self.idempotency == "key"

    def _first(self, place: tuple[str, str, str]) -> Request | None:
        """Give the request that a key stands for, unless it is forgotten."""
        first = self._keys.get(place)
        forgotten = first is not None and self.world.ticks >= first.until
        return None if forgotten and first is not None and first.answer is not None else first

    def _scope(self, op: Operation) -> str:
        """Name those among whom the keys of a caller are unique."""
        who = root(op)
        if self.scope == "account":
            return "of all"
        return f"session {who.owner}" if self.scope == "session" else f"call {who.name}"

    def _begin(self, request: Request, key: str, *, repeated: bool) -> None:
        """Begin the operation of a request, and note it."""
        world, numbers = self.world, self.world.numbers
        assert request.caller is not None
        request.op = op = self._reactions.begin(request.caller)
        world.emit(
            (
                journal.GATEWAY,
                world.ticks,
                op.owner_number,
                op.n,
                numbers[self.name],
                numbers[request.kind],
                numbers[request.ref],
                numbers[request.of],
                request.amount,
                numbers[request.currency],
                numbers[key],
                numbers[request.body],
                request.until,
                int(repeated),
            )
        )

    # --- carrying out -----------------------------------------------------------------------------

    def _wait(self, request: Request, number: int, own: Span | None = None) -> Event:
        span = self.latency[min(number, len(self.latency) - 1)] if own is None else own
        return self._op(request).latency(span, "gateway")

    def _repeat(self, request: Request, first: Request, number: int) -> Generator[Event, Any, None]:
        """Answer a repeated request as the first was answered, once it is."""
        yield self._wait(request, number)
        if first.answer is None:
            heard = Wait(self.world, f"the gateway's answer for {first.ref}")
            first.waiting.append(heard)
            yield heard
        assert first.answer is not None
        self._reply(request, first.answer)
        self._end(request, "repeated")

    def _carry_out(
        self, request: Request, manner: Manner, number: int
    ) -> Generator[Event, Any, None]:
        """Do what a request asks for."""
        mode = manner.mode
        yield self._wait(request, number, manner.latency)
        objection = "declined" if mode == "fail" else self._objection(request)
        if objection:
            self._reply(request, self._replied(request, "failed", objection))
            self._settle(request, "failed")
            return
        settle_after = self.settle_after if manner.settle_after is None else manner.settle_after
        if mode == "ok" and not settle_after:
            self._reply(request, self._replied(request, "succeeded"))
            self._settle(request, "succeeded")
            return
        request.become("pending", self.world.instant)
        self._reply(request, self._replied(request, "pending"))
        self._tell(request, "pending")
        yield self.world.timer(settle_after)
        if request.status == "pending":  # nobody has settled it by hand
            self._settle(request, "succeeded" if mode == "ok" else "failed")

    def _objection(self, request: Request) -> str:
        if request.kind != "refund":
            return ""
        charge = self._requests.get(request.of)
        if charge is None or not self.ledger.sum("charge", request.of):
            return "no_such_charge"
        return "wrong_currency" if charge.currency != request.currency else ""

    def _replied(self, request: Request, status: str, code: str = "") -> Reply:
        return Reply(status, code, request.ref, request.gateway_ref)

    def _reply(self, request: Request, answer: Reply) -> None:
        request.answer = answer
        for heard in request.waiting:
            if not heard.triggered:
                heard.succeed(answer)

    def _settle(self, request: Request, status: str) -> None:
        """Bring a request to its end: from now on the money is moved, or never will be."""
        request.become(status, self.world.instant)
        if status == "succeeded":
            self._enter(request, self._op(request), request.kind)
        self._tell(request, status)
        self._end(request, status)

    def _end(self, request: Request, status: str) -> None:
        world, op = self.world, self._op(request)
        name, why = world.numbers[self.name], world.numbers[status]
        world.emit((journal.GATEWAYEND, world.ticks, op.owner_number, op.n, name, why))
        op.end()

    def _op(self, request: Request) -> Reaction:
        assert request.op is not None
        return request.op

    def _enter(self, request: Request, op: Operation, kind: Kind) -> None:
        """Move money."""
        asked = amount = request.amount
        if self.minor_units == "always_100":
            amount = asked * 10 ** exponent(request.currency) // 100
        of = request.ref if kind == "chargeback" else request.of
        moved = Movement(kind, request.ref, of, amount, request.currency, self.world.instant)
        self.ledger.enter(op, moved, asked)

    # --- what was before, and what comes by hand --------------------------------------------------

    def open(self, moved: Movement, *, status: str = "succeeded") -> None:
        """Make known what was asked for before the start; if it has succeeded, it is in the ledger.

        What is `pending` waits for `settle`. Raises HarnessError for a row that is known already.
        """
        if moved.kind != "chargeback":
            if moved.ref in self._requests:
                raise HarnessError(f"{self.name} is opened with {moved.ref} twice")
            request = Request(moved.kind, moved.ref, moved.of, moved.amount, moved.currency)
            self._count += 1
            request.gateway_ref = f"{moved.kind}-{self._count}"
            request.become(status, moved.at)
            request.answer = self._replied(request, status)
            self._requests[moved.ref] = request
        if status == "succeeded":
            self.ledger.open(moved)

    def fate(self, ref: str) -> tuple[str, int]:
        """Say what has become of a request, whatever the product was told of it: for goals.

        Gives its status (sent, pending, succeeded, failed or disputed) and the instant from which
        on it is so; an empty status for a row that nothing was asked for.
        """
        request = self._requests.get(ref)
        return (request.status, request.since) if request is not None else ("", 0)

    def settle(self, op: Operation, ref: str, status: str) -> Reply:
        """Bring what is pending to its end now, or have a charge that has succeeded disputed.

        What follows from a settlement is a reaction to the request, whoever settles it.

        Args:
            op: Whoever does it.
            ref: The row of the charge or refund.
            status: succeeded, failed or disputed.

        Raises:
            Refused: `not_found`, or `conflict` where the status can't become that one.
        """
        request = self._requests.get(ref)
        if request is None:
            raise Refused("not_found", f"the gateway knows no {ref!a:.80}")
        if status == "disputed":
            if request.kind != "charge" or request.status != "succeeded":
                raise Refused("conflict", f"{request.kind} {ref} is {request.status}")
            request.become(status, self.world.instant)
            deed = self._reactions.begin(op)
            self._enter(request, deed, "chargeback")
            self._tell(request, status, op)
            deed.end()
        elif request.status != "pending":
            raise Refused("conflict", f"{request.kind} {ref} is {request.status}")
        else:
            if request.op is None:  # of before the start
                request.caller = op
                request.op = self._reactions.begin(op)
            self._settle(request, status)
        return self._replied(request, status)

    def look(self, op: Operation, ref: str) -> Generator[Event, Any, str]:
        """Ask, after the wait `gateway` of the last request, what became of a charge or refund.

        Gives sent, pending, succeeded, failed or disputed, and nothing where it knows of none.
        """
        yield op.latency(self.latency[-1], "gateway")
        request = self._requests.get(ref)
        return request.status if request is not None else ""

    def newest(self, ref: str) -> int | None:
        """Give the `created` of the last event made of a charge or refund; None before there is."""
        return self._created.get(ref)

    # --- telling ----------------------------------------------------------------------------------

    def _tell(self, request: Request, status: str, by: Operation | None = None) -> None:
        """Send the event of a new status, as a reaction to the call, or to whoever it was `by`."""
        caller = by or request.caller
        assert caller is not None
        request.events += 1
        # Each of a row's events is newer than those before.
        instant = self.world.instant
        created = max(instant, self._created.get(request.ref, instant - 1) + 1)
        self._created[request.ref] = created
        name = (request.op or caller).name
        payload = {"status": status, "of": request.of}
        kind = request.event_kind(status)
        notice = Notice(f"{name}/{request.events}", kind, created, request.ref, payload)
        self.webhook.send(caller, notice)
