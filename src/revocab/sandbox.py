"""Templates that somebody else wrote, rendered in Jinja's immutable sandbox, as transformers does.

A template cannot reach Python or change what it is given. It may loop for as long as it likes.
Verbs of evaluation are read with this, so jinja2 is imported where it is needed.
"""

from __future__ import annotations

#: Characters; the longest known chat templates have 30,000.
MAX_TEMPLATE = 100_000


def check_length(template: str) -> None:
    """Raise :class:`jinja2.exceptions.SecurityError` for a template that is too long."""
    if len(template) > MAX_TEMPLATE:
        from jinja2.exceptions import SecurityError

        raise SecurityError(f"it has {len(template):,} characters; allowed are {MAX_TEMPLATE:,}")


def explain(error: Exception) -> str:
    """Return in words why a template was not rendered."""
    from jinja2.exceptions import SecurityError, TemplateSyntaxError

    if isinstance(error, SecurityError):
        return f"template refused: {error}"
    line = f", line {error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
    return f"template cannot be rendered ({type(error).__name__}{line}: {error})"
