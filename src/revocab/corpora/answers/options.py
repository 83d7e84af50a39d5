"""What decides a model's own answers, and what is taken from them."""

from __future__ import annotations

from pydantic import Field

from revocab.closed import Job, OneLine
from revocab.corpora.documents import Condition
from revocab.corpora.source import Form
from revocab.evaluation.options import GenerationOptions
from revocab.limits import Count
from revocab.training.chat.messages import Role

#: The conversations, in the folders of both commands.
CONVERSATIONS = "conversations.jsonl.gz"
#: The field of their rows that has the messages.
MESSAGES = "messages"


class AnswerOptions(GenerationOptions):
    """How questions are answered, greedily, through the model's chat template."""

    limit: Count | None = Field(default=None, description="answer only the first N conversations")


class AnswerJob(AnswerOptions, Job):
    """Answers of one model, and where the questions come from."""

    source: Form = Field(default=Form(), description="form of the files, or a Hub data set")
    messages_field: OneLine = Field(
        default=MESSAGES, description="field of a row that contains the messages"
    )
    message_roles: dict[OneLine, Role] = Field(
        default_factory=dict,
        exclude_if=lambda names: not names,
        description="whose the messages of a role are, beside the usual names of roles",
    )
    keep: dict[OneLine, Condition] = Field(
        default_factory=dict,
        exclude_if=lambda conditions: not conditions,
        description="answer only rows whose fields are as said, such as {score: {min: 8}}",
    )
