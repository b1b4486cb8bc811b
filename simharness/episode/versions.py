"""Which build a recording needs, and whether this is one.

A recording of other semantics is refused before anything of it is run: it would only diverge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from simharness.episode import plan as plans
from simharness.errors import OtherFormat, OtherKernel, OtherModel, OtherPatch
from simharness.product.registry import OWN, load_scenario
from simharness.recording.format import FORMAT

if TYPE_CHECKING:
    from simharness.recording.reader import EpisodeRecord

RELEASE = re.compile(r"([0-9]+\.[0-9]+)\.[0-9]+")


def require_build(record: EpisodeRecord) -> None:
    """Check format, kernel semantics, the product's semantics and its patches.

    What the header doesn't tell is not checked here; `read_plan` refuses it.

    Raises:
        OtherFormat: The header is of a later format.
        OtherKernel: This build's kernel means something else by a seed.
        OtherModel: This build's product does.
        OtherPatch: This build's product doesn't know a patch that is listed.
        UsageError: The product isn't there.
    """
    header = record.header
    made_of, kernel, model = header.get("format"), header.get("kernel"), header.get("model")
    if type(made_of) is int and made_of > FORMAT:
        raise OtherFormat(
            f"recording needs format {made_of}, this build reads up to {FORMAT}", install(record)
        )
    if type(kernel) is int and kernel != plans.KERNEL_SEMANTICS:
        raise OtherKernel(
            f"recording needs kernel semantics {kernel}, this build has {plans.KERNEL_SEMANTICS}",
            install(record),
        )
    scenario = header.get("scenario")
    if not isinstance(scenario, str):
        return
    product, _ = load_scenario(scenario)
    name = product.name
    hint = install(record) if name in OWN else elsewhere(record, name)
    if type(model) is int and model != product.semantics:
        raise OtherModel(
            f"recording needs {name} semantics {model}, this build has {product.semantics}", hint
        )
    listed = header.get("patches")
    for patch in cast("list[object]", listed) if isinstance(listed, list) else ():
        if patch not in product.patches:
            raise OtherPatch(
                f"recording needs {name} patch {patch!r}, which this build doesn't know", hint
            )


def install(record: EpisodeRecord) -> str:
    """Say which release to install: any of the series that recorded it, as INFO tells."""
    made_by = record.info.get("simharness")
    if not isinstance(made_by, str):
        return "use the release that recorded it; it has no INFO frame to name that"
    release = RELEASE.fullmatch(made_by)
    return f"pip install simharness=={release[1] + '.*' if release else made_by}"


def elsewhere(record: EpisodeRecord, product: str) -> str:
    """Say which sources to use where the product is somebody else's."""
    made_by = record.info.get("simharness", "unknown")
    return f"use the version of {product} that recorded it (with simharness {made_by})"
