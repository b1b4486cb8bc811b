"""Whether a scenario is fit to train on: what its worlds, its reference and its goal are like."""
