"""What can be called: one file for each kind of act, mixins over the stores."""
