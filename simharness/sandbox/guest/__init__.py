"""What runs inside the sandbox, beside the code that is judged.

These files are built into the component by `python -m simharness.sandbox.build`; a change of any of
them needs a new build. They import the standard library and each other, and nothing else. The host
imports `values` alone, which both sides speak.
"""
