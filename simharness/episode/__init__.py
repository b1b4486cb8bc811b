"""One world driven call by call, without a verdict yet."""
