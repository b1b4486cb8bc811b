"""Policies that ask a language model, by the chat API that most providers and servers speak."""
