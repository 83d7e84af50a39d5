"""Conversations: their messages, the templates that make text of them, and the tokens to learn."""
