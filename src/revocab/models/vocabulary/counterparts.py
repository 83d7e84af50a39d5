"""Which token of the new vocabulary does what a special token of the old one did.

Chat models end at several tokens (``eos_token_id: [128001, 128008, 128009]``). Each has to be found
again in the new vocabulary, or the adapted model talks past the end of its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class _Side:
    """The special and added tokens of one tokenizer, by id and spelling, with their roles."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, roles: Mapping[str, str]):
        from revocab.tokenizers.canonical import CHAT_ROLES, special_and_added, token_roles

        self.spellings: dict[int, Any] = {
            number: tokenizer.convert_ids_to_tokens(number)
            for number in sorted(special_and_added(tokenizer))
        }
        self.roles = token_roles(tokenizer, roles)
        #: What they do in a chat, also where they are padding or bos as well.
        self.chat_roles = {
            number: CHAT_ROLES[spelling]
            for number, spelling in self.spellings.items()
            if spelling in CHAT_ROLES
        }

    def by_spelling(self, spelling: str | None) -> int | None:
        numbers = (number for number, own in self.spellings.items() if own == spelling)
        return None if spelling is None else next(numbers, None)

    def by_role(self, role: str | None) -> int | None:
        named = {*self.roles.items(), *self.chat_roles.items()}
        return min((number for number, own in named if own == role and role), default=None)


@dataclass(frozen=True)
class Counterparts:
    """Special tokens of a source tokenizer, found again in a target tokenizer.

    ``source_roles`` and ``target_roles`` declare roles by spelling, as for an intersection.
    """

    source: PreTrainedTokenizerFast
    target: PreTrainedTokenizerFast
    source_roles: Mapping[str, str] = field(default_factory=dict)
    target_roles: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _sides(self) -> tuple[_Side, _Side]:
        return _Side(self.source, self.source_roles), _Side(self.target, self.target_roles)

    def find(self, number: int, role: str) -> int | None:
        """Return the target id for a source id that a setting for ``role`` names, or None.

        A chat token that the target has, too, stays itself. Otherwise the source's own token of
        ``role`` becomes the target's own; chat tokens go by their well-known or declared role;
        other tokens that the tokenizer configures (bos, unk, pad …) by that role, then by spelling.
        Only special and added tokens have counterparts: text that happens to be spelled like one is
        text.
        """
        from revocab.tokenizers.canonical import ROLE_ORDER

        source, target = self._sides
        attribute = f"{role}_token_id"
        is_own = number == getattr(self.source, attribute)
        own = getattr(self.target, attribute) if is_own else None
        known, chat = source.roles.get(number), source.chat_roles.get(number)
        spelled = target.by_spelling(source.spellings.get(number))
        configured = target.by_role(known)
        if chat is not None:
            candidates = [spelled, own, target.by_role(chat), configured]
        elif known in ROLE_ORDER:
            candidates = [own, configured, spelled]
        else:
            candidates = [own, spelled, configured]
        return next((candidate for candidate in candidates if candidate is not None), None)

    def carry(self, numbers: list[Any], role: str) -> tuple[list[int], list[Any]]:
        """Return the counterparts of a list of ids, in its order and each once, and those lost."""
        kept, lost = [], []
        for number in numbers:
            is_id = isinstance(number, int) and not isinstance(number, bool)
            counterpart = self.find(number, role) if is_id else None
            if counterpart is None:
                lost.append(number)
            elif counterpart not in kept:
                kept.append(counterpart)
        return kept, lost

    def name(self, number: Any) -> str:
        """Return a source id as text, with its spelling where it has one."""
        is_id = isinstance(number, int) and 0 <= number < len(self.source)
        spelling = self.source.convert_ids_to_tokens(number) if is_id else None
        return str(number) if spelling is None else f"{number} ({spelling})"
