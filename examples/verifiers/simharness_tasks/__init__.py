"""Scenarios of simharness as a taskset of verifiers."""

from simharness_tasks.taskset import SimharnessTaskset

__all__ = ["SimharnessTaskset"]
