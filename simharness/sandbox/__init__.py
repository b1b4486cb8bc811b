"""Runs programs and tests that nobody trusts: CPython in WebAssembly, files in and out by value.

`docs/sandbox.md` says what it promises. wasmtime is imported when something is run, not before.
"""
