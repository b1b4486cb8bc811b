"""`simharness whatif`."""

from __future__ import annotations

from pathlib import Path

import click

from simharness.blame.whatif import whatif
from simharness.cli.files import name_of, one_episode
from simharness.cli.output import emit_json, reward_number, reward_text
from simharness.cli.truth import WHO
from simharness.recording.reader import require_complete


@click.command("whatif")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--episode", metavar="SCENARIO:SEED", help="One episode of a shard or run.")
@click.option(
    "--ablate",
    "mechanisms",
    multiple=True,
    required=True,
    metavar="MECHANISM",
    help="e.g. cache:deals.detail",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(path: Path, episode: str | None, mechanisms: tuple[str, ...], as_json: bool) -> int:
    """Run an episode again at the same instants, with mechanisms telling the truth."""
    record = require_complete(one_episode(path, episode))
    result = whatif(record, mechanisms)
    if as_json:
        emit_json(
            {
                "episode": name_of(record),
                "ablated": list(result.mechanisms),
                "reward": reward_number(result.reward),
                "arms": [
                    {
                        **arm.record(),
                        "score": reward_number(arm.score),
                        "score_before": reward_number(arm.score_before),
                        "flips": arm.flips,
                        "reward": reward_number(result.paid(arm)),
                    }
                    for arm in result.arms
                ],
            }
        )
        return 0
    click.echo(
        f"{name_of(record)}, policy {result.policy or 'unknown'}: "
        f"reward {reward_text(result.reward)}"
    )
    for arm in result.arms:
        paid = result.paid(arm)
        what, now, before = "goal", arm.score, arm.score_before
        if paid is not None:
            what, now, before = "reward", paid, result.reward
        change = "no change" if now in (None, before) else "flips"
        click.echo(
            f"  {', '.join(arm.repaired)} true -> {what} {reward_text(now)} "
            f"({WHO[arm.proof]}; before {reward_text(before)}): {change}"
        )
    return 0
