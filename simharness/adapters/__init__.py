"""The products as the environments of other frameworks; a module each, loaded only where used."""
