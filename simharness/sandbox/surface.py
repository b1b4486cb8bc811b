"""What the author of a product needs of the sandbox, under one name: `simharness.api.sandbox`."""

from simharness.sandbox.asking import run_job
from simharness.sandbox.canonical import leaf_text, same_data
from simharness.sandbox.choice import Sandbox, is_installed, open_sandbox
from simharness.sandbox.guest.values import Thing, same
from simharness.sandbox.job import Call, Calls, Command, Job, Kept, Limits, Tests
from simharness.sandbox.result import Answer, End, Result, TestResult

__all__ = [
    "Answer",
    "Call",
    "Calls",
    "Command",
    "End",
    "Job",
    "Kept",
    "Limits",
    "Result",
    "Sandbox",
    "TestResult",
    "Tests",
    "Thing",
    "is_installed",
    "leaf_text",
    "open_sandbox",
    "run_job",
    "same",
    "same_data",
]
