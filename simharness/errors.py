"""The one error tree.

SimharnessError             everything this package raises on purpose                      exit code
├── UsageError              what the caller asked for can't be done; says what would be            2
│   ├── UnknownName         a name that isn't known; lists the near ones
│   ├── ProviderRefused     a model's provider can't be reached, or takes none of our requests
│   └── SessionError        a server's session can't do what was asked
│       ├── NoSession       there is none of this name, or it is over
│       ├── NoEpisode       it has no episode that goes on: none was begun, or it has ended
│       ├── OutOfStep       the caller takes it to be at another step, as after a lost answer
│       └── AtCapacity      there is room for no further one, or its turn didn't come
├── RecordingError          a recording can't be read or written                                   2
│   ├── DamagedRecording    bytes that fail a check: flipped, foreign, or from the future
│   ├── TruncatedRecording  a whole prefix and no footer, where a whole one is needed
│   └── VersionError        sound bytes that need another version of this package
│       ├── OtherFormat     of a later format
│       ├── OtherKernel     of other kernel semantics
│       ├── OtherModel      of other semantics of its product
│       └── OtherPatch      with a patch that its product doesn't know
├── Divergence              a replay produced something other than what was recorded               3
├── ProviderFailed          a model's provider failed amid an episode: no number                   4
└── HarnessError            the harness failed, so there is no number to train on                  4
    ├── ProcessFailed       a simulated process raised; names it
    ├── Deadlock            nobody can move, or a call outlived every bound
    ├── ContractBreach      an observation broke its view's contract (`on_harness="raise"`)
    ├── HarnessUnhealthy    too many bad episodes; carries the rate
    ├── ForbiddenCall       a product called what would make a seed mean something else
    ├── SandboxFailed       the sandbox failed, and not the program in it
    └── CallOverdue         a call took longer, in real time, than a server allows

Every class takes its message first and keyword-free extras after it, all kept in `.args`: SimPy
copies a failure as `type(e)(*e.args)`, and worker processes pickle it.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


class SimharnessError(Exception):
    """Stand at the root of every error that this package raises on purpose."""

    code: ClassVar[str] = "SH-ERR-000"
    exit_code: ClassVar[int] = 4

    @property
    def message(self) -> str:
        """The sentence for a person, without the code."""
        return str(self.args[0]) if self.args else ""

    @property
    def hint(self) -> str:
        """What to do or run next, or an empty string."""
        return str(self.args[1]) if len(self.args) > 1 else ""

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(SimharnessError):
    """The caller asked for something that can't be done."""

    code = "SH-USE-001"
    exit_code = 2


class UnknownName(UsageError):
    """A name is not known here."""

    code = "SH-USE-002"

    @classmethod
    def among(cls, kind: str, name: str, known: Iterable[str]) -> UnknownName:
        """Build the error for `name`, with the near spellings of the names that are known."""
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        if near:
            hint = "did you mean " + " or ".join(repr(n) for n in near) + "?"
        elif len(names) <= 12:
            hint = "known: " + (", ".join(names) or "none")
        else:
            hint = f"known: {', '.join(names[:8])} and {len(names) - 8} more"
        return cls(f"no {kind} named {name!r}", hint)


class SessionError(UsageError):
    """A server's session can't do what was asked; those of others are as they were."""

    code = "SH-SES-001"


class NoSession(SessionError):
    """There is no session of this name: there never was, or it is over."""

    code = "SH-SES-002"


class NoEpisode(SessionError):
    """A session has no episode that goes on: none was begun, or it has ended."""

    code = "SH-SES-003"


class OutOfStep(SessionError):
    """The caller takes an episode to be at another step, as after an answer that was lost."""

    code = "SH-SES-004"


class AtCapacity(SessionError):
    """There is no room for a further session, or the turn of a call didn't come."""

    code = "SH-SES-005"


class ProviderRefused(UsageError):
    """The provider of a model can't be reached, or refuses what it is asked from the start."""

    code = "SH-USE-003"


class RecordingError(SimharnessError):
    """A recording can't be read or written."""

    code = "SH-REC-001"
    exit_code = 2


class DamagedRecording(RecordingError):
    """Bytes fail a check."""

    code = "SH-REC-002"


class TruncatedRecording(RecordingError):
    """The recording ends early and a whole one is needed."""

    code = "SH-REC-003"


class VersionError(RecordingError):
    """The recording needs another version of this package, or of its product."""

    code = "SH-VER-000"


class OtherFormat(VersionError):
    """The bytes are of a later format."""

    code = "SH-VER-001"


class OtherKernel(VersionError):
    """A seed means something else to this build's kernel."""

    code = "SH-VER-002"


class OtherModel(VersionError):
    """A seed means something else to this build's product."""

    code = "SH-VER-003"


class OtherPatch(VersionError):
    """The recording rests on a patch that this build's product doesn't know."""

    code = "SH-VER-004"


class Divergence(SimharnessError):
    """A replay produced something other than what was recorded.

    The extras after message and hint are the report's fields; see `simharness.episode.replay`.
    """

    code = "SH-DIV-000"
    exit_code = 3


class ProviderFailed(SimharnessError):
    """The provider of a model failed amid an episode, which is neither model nor harness.

    The third of `args` is the code of the taxonomy, X810 unless it is given.
    """

    code = "SH-EXT-001"
    exit_code = 4

    @property
    def finding(self) -> str:
        """The code of the taxonomy."""
        return str(self.args[2]) if len(self.args) > 2 else "X810"


class HarnessError(SimharnessError):
    """The harness failed: there is no number to train on."""

    code = "SH-HAR-001"
    exit_code = 4


class ProcessFailed(HarnessError):
    """A simulated process raised."""

    code = "SH-HAR-002"


class Deadlock(HarnessError):
    """Nobody can move, or a call outlived every bound."""

    code = "SH-HAR-003"


class ContractBreach(HarnessError):
    """An observation broke the contract of its view."""

    code = "SH-HAR-004"


class HarnessUnhealthy(HarnessError):
    """Too many episodes failed because of the harness.

    The extras after message and hint are the share of episodes that failed, the share from which it
    is too many, and the code of the finding that decided most of them.
    """

    code = "SH-HAR-005"

    @property
    def rate(self) -> float:
        """The share of episodes that failed."""
        return float(self.args[2])

    @property
    def bound(self) -> float:
        """The share from which they are too many, where they don't fail in a row."""
        return float(self.args[3])

    @property
    def worst(self) -> str:
        """The code of the finding that decided most of the episodes that failed."""
        return str(self.args[4])


class ForbiddenCall(HarnessError):
    """A product called what would make a seed mean something else, such as the machine's clock."""

    code = "SH-HAR-006"


class SandboxFailed(HarnessError):
    """The sandbox failed, and not the program in it: tried twice, so the episode has no number."""

    code = "SH-HAR-007"


class CallOverdue(HarnessError):
    """A call took longer, in real time, than a server allows."""

    code = "SH-HAR-008"
