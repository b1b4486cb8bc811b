"""Mock products: each package here is one world an agent can act in."""

if __name__ != "simharness.models":
    raise ImportError(
        f"imported as {__name__!r}; import it as 'simharness.models' "
        "(a second name would load a second copy of every class)"
    )
