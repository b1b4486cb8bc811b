"""The terminal: a shell and its commands over the working tree, as bash and the GNU tools are."""
