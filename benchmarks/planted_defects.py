"""Defects planted in the CRM's reference policy, each with the code that should explain it.

A defect is what the agent does in place of one call of the expert. `spoiled` drives the expert's
generator and puts it there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, cast

from simharness.product.policy import Action, Call, Observation, Task

Part = Generator[Action, Observation, Observation]
"""What stands in for one action of the expert; ends with what the expert is told."""
MOVES = ("update_deal", "move_stage")
WRITES = (*MOVES, "request_approval", "create_quote", "log_activity", "send_email")


def given(call: Call) -> dict[str, Any]:
    """Give the arguments of one of the expert's calls, to be altered."""
    if isinstance(call.args, str):
        raise TypeError(f"the expert sends raw arguments {call.args!r}")
    return dict(call.args)


class Over(Exception):  # noqa: N818  (ends the play, no failure)
    """The play is over."""


@dataclass
class Wrap:
    """One play with a defect."""

    task: Task
    happened: int = 0
    """How often the defect manifested."""
    deal: dict[str, Any] = field(default_factory=dict[str, Any])
    """The deal as last read."""
    shown: set[int] = field(default_factory=set[int])
    """Contacts seen."""
    writes: frozenset[str] = frozenset()
    """The tools that change rows."""
    read: Call | None = None
    """The last call that changed none."""

    @property
    def deal_id(self) -> int:
        return int(self.task.brief["deal_id"])

    def once(self) -> bool:
        """Note that the defect manifests, the first time."""
        self.happened += 1
        return self.happened == 1

    def look(self, told: Observation) -> Observation:
        """Note what was told."""
        answer: object = told.value
        if isinstance(answer, dict):
            value = cast("dict[str, Any]", answer)
            rows: list[Any] = [value, *value.get("contacts", ())]
            self.shown.update(row["id"] for row in rows if "full_name" in row)
            if "champion_id" in value:
                self.deal = value
        return told

    def finish(self, message: str, outcome: str = "done", **more: Any) -> Part:
        """End the episode."""
        yield Call("finish", {"message": message, "outcome": outcome, **more})
        raise Over


Defect = Callable[[Wrap, Call], Part]
Pins = dict[str, int]


@dataclass(frozen=True)
class Planted:
    """A defect and what it should be called."""

    code: str
    spoil: Defect
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    pins: Callable[[Action], Pins | None] = lambda _: None
    """Waits of the world that go with it, by action."""
    advisory: bool = False
    also: tuple[str, ...] = ()
    """Other codes that explain it as well."""


# --- the defects ---------------------------------------------------------------------------------


def plain(_: Wrap, call: Call) -> Part:
    return (yield call)


def misread_version(wrap: Wrap, call: Call) -> Part:
    args = given(call)
    if "if_version" in args:
        wrap.once()
        args["if_version"] += 1 if args["if_version"] == 1 else -1
    return (yield Call(call.tool, args))


def misread_discount(wrap: Wrap, call: Call) -> Part:
    args = given(call)
    if call.tool == "request_approval" and args["discount_pct"] + 1 not in wrap.deal.values():
        wrap.once()
        args["discount_pct"] += 1
    return (yield Call(call.tool, args))


def made_up_contact(wrap: Wrap, call: Call) -> Part:
    args = given(call)
    if call.tool == "send_email" and wrap.once():
        draw = wrap.task.draws(len(wrap.shown))
        number = next(
            n for n in (draw.between(1, 72, "choice", k) for k in range(99)) if n not in wrap.shown
        )
        args["contact_id"] = number
    return (yield Call(call.tool, args))


def made_up_reference(wrap: Wrap, call: Call) -> Part:
    if call.tool == "finish" and wrap.once():
        return (yield Call("finish", {**given(call), "refs": [f"emails:{900 + wrap.deal_id}"]}))
    return (yield call)


def overwrite_after_conflict(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if told.error == "conflict" and call.tool in MOVES and wrap.once():
        told = yield Call(call.tool, {k: v for k, v in given(call).items() if k != "if_version"})
    return told


def same_after_conflict(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if told.error == "conflict" and call.tool in MOVES:
        wrap.once()
        yield call
        yield from wrap.finish("the deal can't be changed", "impossible")
    return told


def mail_to_the_gone(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if (
        call.tool == "get_contact"
        and told.value
        and told.value["status"] != "active"
        and wrap.once()
    ):
        mail = {
            "contact_id": told.value["id"],
            "template": "contract",
            "subject": "Contract",
            "body": ".",
        }
        yield Call("send_email", {**mail, "deal_id": wrap.deal_id})
        yield from wrap.finish("the champion can't be reached", "handed_over")
    return told


def write_to_the_closed(wrap: Wrap, call: Call) -> Part:
    if (
        call.tool == "finish"
        and str(wrap.deal.get("stage", "")).startswith("closed")
        and wrap.once()
    ):
        yield Call("update_deal", {"deal_id": wrap.deal_id, "fields": {"next_step": "call back"}})
    return (yield call)


def unsafe_retry(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if told.error == "unknown_outcome":
        wrap.once()
        told = yield Call(call.tool, {**given(call)})
    return told


def duplicate(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if call.tool == "send_email" and not told.error and wrap.once():
        yield call
    return told


def repeat(wrap: Wrap, call: Call) -> Part:
    if call.tool in WRITES:
        wrap.once()
        while True:
            yield Call("get_deal", {"deal_id": wrap.deal_id})
    return (yield call)


def stop_early(wrap: Wrap, call: Call) -> Part:
    if call.tool in WRITES:
        wrap.once()
        yield None
        raise Over
    return (yield call)


def claim_falsely(wrap: Wrap, call: Call) -> Part:
    if call.tool == "move_stage":
        wrap.once()
        yield from wrap.finish(f"All done: deal {wrap.deal_id} has been taken care of.")
    return (yield call)


def move(wrap: Wrap, stage: str) -> Part:
    """Move the deal; after a conflict, read it again and try again."""
    told = yield Call("get_deal", {"deal_id": wrap.deal_id})
    while True:
        version = wrap.look(told).value["version"]
        args = {"deal_id": wrap.deal_id, "to_stage": stage, "if_version": version}
        moved = yield Call("move_stage", args)
        if moved.error != "conflict":
            return moved
        told = yield Call("get_deal", {"deal_id": wrap.deal_id})


def win_at_once(wrap: Wrap, call: Call) -> Part:
    told = yield call
    deal = wrap.look(told).value
    if (
        call.tool == "get_deal"
        and deal
        and deal["stage"] == "negotiation"
        and deal["legal"] != "cleared"
    ):
        wrap.once()
        yield from move(wrap, "closed_won")
        yield from wrap.finish("it could not be closed", "handed_over")
    return told


def back_before_asking(wrap: Wrap, call: Call) -> Part:
    if call.tool == "request_approval":
        wrap.once()
        yield Call("create_quote", {"deal_id": wrap.deal_id, "discount_pct": 15})
        yield from move(wrap, "proposal")
        yield from wrap.finish("the deal is back in proposal")
    return (yield call)


def touch_another_deal(wrap: Wrap, call: Call) -> Part:
    if call.tool in WRITES and wrap.once():
        told = yield Call("list_deals", {"stage": "proposal"})
        other = next(row for row in told.value["deals"] if row["id"] != wrap.deal_id)
        yield Call("update_deal", {"deal_id": other["id"], "fields": {"next_step": "call back"}})
    return (yield call)


def other_mail(wrap: Wrap, call: Call) -> Part:
    if call.tool == "send_email" and wrap.once():
        yield Call("send_email", {**given(call), "template": "nurture"})
    return (yield call)


def give_up(wrap: Wrap, call: Call) -> Part:
    if call.tool in WRITES:
        wrap.once()
        yield from wrap.finish(
            "This is too difficult; somebody else should look at it.", "handed_over"
        )
    return (yield call)


def refuse(wrap: Wrap, call: Call) -> Part:
    wrap.once()
    yield from wrap.finish("I can't help with that.", "refused")
    return (yield call)


def run_out(wrap: Wrap, call: Call) -> Part:
    if call.tool in WRITES:
        wrap.once()
        told = yield Call("list_accounts", {})
        for row in (told.value or {"accounts": ()})["accounts"]:
            yield Call("get_account", {"account_id": row["id"]})
            for text in (row["domain"], row["domain"].partition(".")[0], row["domain"][:3]):
                yield Call("search_contacts", {"text": text})
    return (yield call)


def no_second_try(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if told.error == "conflict":
        wrap.once()
        yield from wrap.finish("somebody else is working on the deal", "handed_over")
    return told


SENT: dict[str, Any] = {"id": 1}
"""What a policy is made to believe of a mail; an empty answer would be none."""


def skip_mail(wrap: Wrap, call: Call) -> Part:
    if call.tool == "send_email":
        wrap.once()
        return Observation(
            t="", episode_id="", results=({"id": "", "tool": call.tool, "value": SENT},)
        )
    return (yield call)


def mail_badly(wrap: Wrap, call: Call) -> Part:
    if call.tool == "send_email":
        wrap.once()
        yield Call("send_email", {k: v for k, v in given(call).items() if k != "subject"})
        return Observation(
            t="", episode_id="", results=({"id": "", "tool": call.tool, "value": SENT},)
        )
    return (yield call)


def wrong_stage(wrap: Wrap, call: Call) -> Part:
    args = given(call)
    if args.get("to_stage") == "closed_won":
        wrap.once()
        args["to_stage"] = "qualification"
    return (yield Call(call.tool, args))


def skip_verification(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if call.tool == "move_stage" and not told.error:
        wrap.once()
        yield from wrap.finish(f"deal {wrap.deal_id} is in {told.value['stage']}")
    return told


def slow_first_mail() -> Callable[[Action], Pins | None]:
    """Let the first mail's answer take longer than callers wait."""
    state = {"left": 1}

    def pins(action: Action) -> Pins | None:
        if isinstance(action, Call) and action.tool == "send_email" and state["left"]:
            state["left"] = 0
            return {"api": 3_000_000}
        return None

    return pins


TIMEOUT = {"api.timeout": "2s", "api.on_timeout": "unknown_outcome"}

DEFECTS: dict[str, Callable[[], Planted]] = {
    "misread version": lambda: Planted("M110", misread_version),
    "misread discount": lambda: Planted("M110", misread_discount),
    "made-up contact": lambda: Planted("M111", made_up_contact),
    "made-up reference": lambda: Planted("M111", made_up_reference),
    "same version after conflict": lambda: Planted("M112", same_after_conflict),
    "mail to one who left": lambda: Planted("M112", mail_to_the_gone),
    "write to the closed deal": lambda: Planted("M112", write_to_the_closed),
    "bad call, given up": lambda: Planted("M210", mail_badly),
    "wrong stage": lambda: Planted("M211", wrong_stage),
    "repetition": lambda: Planted("M310", repeat),
    "win at once": lambda: Planted("M312", win_at_once),
    "back before asking": lambda: Planted("M312", back_before_asking),
    "mail skipped": lambda: Planted("M313", skip_mail),
    "another deal touched": lambda: Planted("M411", touch_another_deal),
    "another mail sent": lambda: Planted("M411", other_mail),
    "premature stop": lambda: Planted("M510", stop_early),
    "false claim": lambda: Planted("M511", claim_falsely),
    "no verification": lambda: Planted("M512", skip_verification, advisory=True),
    "ran out": lambda: Planted("M513", run_out),
    "gave up": lambda: Planted("M514", give_up),
    "refused": lambda: Planted("M514", refuse),
    "no second try": lambda: Planted("M610", no_second_try),
    "unsafe retry": lambda: Planted("M611", unsafe_retry, TIMEOUT, slow_first_mail()),
    "overwrite after conflict": lambda: Planted("M612", overwrite_after_conflict),
    "mail sent twice": lambda: Planted("M613", duplicate),
}


# --- playing -----------------------------------------------------------------------------------


def spoiled(
    wrap: Wrap, spoil: Defect, expert: Generator[Action, Observation, None]
) -> Generator[Action, Observation, None]:
    """Drive the expert and put the defect in place of each call."""
    try:
        action = next(expert)
        while True:
            if not isinstance(action, Call):
                raise TypeError(f"the expert does {action!r}, expected single calls")
            told = yield from spoil(wrap, action)
            action = expert.send(wrap.look(told))
    except (StopIteration, Over):
        return
