"""What can be called: one file for each kind of row, mixins over the stores."""
