"""The tools of the IDE: the editor, sharing with others, running things."""
