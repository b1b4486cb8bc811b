"""What an auditor is measured by: classes and codes as planted against those that it gave."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.blame.statistics import Rate, rate
from simharness.blame.verdict import Class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CLASSES = (Class.HARNESS, Class.MODEL, Class.OK)
GIVEN = (*CLASSES, Class.AMBIGUOUS)
EXAMPLES = 5
"""Episodes that are named for each thing that is wrong."""
CLEAN = ("clean", "condition", "twin", "defect")
"""Groups whose world is sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One episode, what is known of it from outside, and what the auditor says."""

    group: str
    """fault, mutation, defect, condition, clean, or twin: a fault's episode without it."""
    case: str
    """What was planted, or which policy and settings."""
    name: str
    """How to play it again."""
    truth: Class | None
    """Who answers for the outcome; None where that isn't known from outside."""
    due: tuple[str, ...] = ()
    """Codes of which one is to be found; the first names the row of the matrix."""
    fitting: tuple[str, ...] = ()
    """Codes of which the primary one is to be; empty where none needs to be."""
    shows: bool = True
    """Whether it is known from outside that what was planted did something."""
    kind: Class
    primary: str
    codes: frozenset[str]
    headline: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing of the harness was planted."""
        return self.group in CLEAN

    @property
    def found(self) -> bool:
        """Whether one of the codes that are due was found."""
        return not self.codes.isdisjoint(self.due)

    @property
    def against(self) -> bool:
        """Whether anything was found against the harness."""
        return any(code.startswith("H") for code in self.codes)

    @property
    def fits(self) -> bool:
        """Whether the primary code is a fitting one."""
        return self.primary in self.fitting


@dataclass(slots=True)
class Counted:
    """Of how many something holds, and for which it doesn't."""

    right: int = 0
    of: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def add(self, right: bool, judged: Judged) -> None:
        """Count one episode."""
        self.right += right
        self.of += 1
        if not right and len(self.wrong) < EXAMPLES:
            self.wrong.append(f"{judged.name}: {judged.headline}")

    @property
    def rate(self) -> Rate:
        """The share with its interval."""
        return rate(self.right, self.of)

    def take(self, record: Mapping[str, Any]) -> None:
        """Add what a record tells."""
        self.right += record["right"]
        self.of += record["of"]
        self.wrong = [*self.wrong, *record["wrong"]][:EXAMPLES]

    def record(self) -> dict[str, Any]:
        """Give it as JSON holds it."""
        found = self.rate
        return {
            "right": self.right,
            "of": self.of,
            "share": round(found.point, 6),
            "low": round(found.low, 6),
            "high": round(found.high, 6),
            "wrong": self.wrong,
        }


@dataclass(slots=True)
class Matrix:
    """All that was counted."""

    classes: dict[Class, Counter[Class]] = field(
        default_factory=lambda: {kind: Counter[Class]() for kind in CLASSES}
    )
    """Class as planted, to the classes that were given."""
    class_right: dict[Class, Counted] = field(
        default_factory=lambda: {kind: Counted() for kind in CLASSES}
    )
    found: dict[str, Counted] = field(default_factory=dict[str, Counted])
    """By code that was due: how often one of those due was found."""
    primaries: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """By code that was due: the primary codes that were given."""
    named: dict[str, Counted] = field(default_factory=dict[str, Counted])
    """By code that was due: how often the primary was a fitting one."""
    clean: dict[str, Counted] = field(default_factory=dict[str, Counted])
    """By group: sound episodes without a finding against the harness."""
    alarms: Counter[str] = field(default_factory=Counter[str])
    """Codes found in sound worlds."""
    cases: dict[str, Counted] = field(default_factory=dict[str, Counted])
    """By fault, mutation or defect: how often it was found."""

    def add(self, judged: Judged) -> None:
        """Count one episode."""
        if judged.truth is not None:
            self.classes[judged.truth][judged.kind] += 1
            self.class_right[judged.truth].add(judged.kind is judged.truth, judged)
        if judged.sound:
            self.clean.setdefault(judged.group, Counted()).add(not judged.against, judged)
            self.alarms.update(code for code in judged.codes if code.startswith("H"))
        if not judged.due:
            return
        code = judged.due[0]
        self.cases.setdefault(f"{judged.group} {judged.case}", Counted()).add(judged.found, judged)
        if not judged.shows:
            return
        self.found.setdefault(code, Counted()).add(judged.found, judged)
        if judged.fitting:
            self.primaries.setdefault(code, Counter())[judged.primary or "none"] += 1
            self.named.setdefault(code, Counted()).add(judged.fits, judged)

    def add_all(self, episodes: Iterable[Judged]) -> Matrix:
        """Count episodes."""
        for judged in episodes:
            self.add(judged)
        return self

    def take(self, record: Mapping[str, Any]) -> Matrix:
        """Add the record of another measurement, of other episodes."""
        for truth, told in record["classes"].items():
            self.class_right[Class(truth)].take(told)
            self.classes[Class(truth)].update({Class(k): n for k, n in told["given"].items()})
        for code, told in record["codes"].items():
            self.found.setdefault(code, Counted()).take(told["found"])
            if told["primary"]["of"]:
                self.named.setdefault(code, Counted()).take(told["primary"])
                self.primaries.setdefault(code, Counter()).update(told["primaries"])
        for group, told in record["sound"]["groups"].items():
            self.clean.setdefault(group, Counted()).take(told)
        self.alarms.update(record["sound"]["alarms"])
        for case, told in record["cases"].items():
            self.cases.setdefault(case, Counted()).take(told)
        return self

    @property
    def undetected(self) -> list[str]:
        """What was planted and never found."""
        return sorted(case for case, counted in self.cases.items() if not counted.right)

    @property
    def sound(self) -> Counted:
        """All sound episodes together."""
        return summed(self.clean.values())

    @property
    def primary(self) -> Counted:
        """All primary codes together."""
        return summed(self.named.values())

    def record(self) -> dict[str, Any]:
        """Give the matrix as JSON holds it."""
        return {
            "classes": {
                str(truth): {
                    **self.class_right[truth].record(),
                    "given": {str(kind): given[kind] for kind in GIVEN},
                }
                for truth, given in self.classes.items()
            },
            "codes": {
                code: {
                    "found": counted.record(),
                    "primary": self.named.get(code, Counted()).record(),
                    "primaries": dict(self.primaries.get(code, Counter()).most_common()),
                    "alarms": self.alarms[code],
                }
                for code, counted in sorted(self.found.items())
            },
            "primary": self.primary.record(),
            "sound": {
                **self.sound.record(),
                "groups": {group: c.record() for group, c in sorted(self.clean.items())},
                "alarms": dict(self.alarms.most_common()),
            },
            "cases": {case: c.record() for case, c in sorted(self.cases.items())},
            "undetected": self.undetected,
        }

    def text(self) -> Iterator[str]:
        """Show the matrix in lines of at most 80 columns."""
        yield "class as planted, and as given"
        yield f"  {'':8}" + "".join(f"{kind:>10}" for kind in GIVEN) + "   right (95 %)"
        for truth, given in self.classes.items():
            cells = "".join(f"{given[kind]:>10}" for kind in GIVEN)
            right = shown(self.class_right[truth]).partition(" of ")[0]
            yield f"  {truth:8}{cells}   {right}"
        yield "code as planted: found, and the primary codes given"
        for code, counted in sorted(self.found.items()):
            primaries = self.primaries.get(code, Counter[str]())
            told = ", ".join(f"{name} {n}" for name, n in primaries.most_common(4))
            yield f"  {code}  {shown(counted):32}  {told}".rstrip()
        yield f"primary right: {shown(self.primary)}"
        yield f"sound worlds without a finding: {shown(self.sound)}"
        for group, counted in sorted(self.clean.items()):
            yield f"  {group:10} {shown(counted)}"
        planted = Counter(case.partition(" ")[0] for case in self.cases)
        missed = Counter(case.partition(" ")[0] for case in self.undetected)
        for group, number in sorted(planted.items()):
            yield f"{group}s found: {number - missed[group]} of {number}"
        yield from (f"  never found: {case}" for case in self.undetected)


def shown(counted: Counted) -> str:
    """Show a share with its interval: `99.1% (97.2 to 99.8) of 230`."""
    found = counted.rate
    if not found.episodes:
        return "-"
    return f"{found.point:.1%} ({found.low:.1%} to {found.high:.1%}) of {found.episodes}"


def summed(parts: Iterable[Counted]) -> Counted:
    """Add counts up."""
    total = Counted()
    for part in parts:
        total.right += part.right
        total.of += part.of
        total.wrong += part.wrong
    return total
