"""The demo's world: Italian and English text about invented people and places, from our lexicon.

``grammar_*`` are pure functions of words; ``lexicon_*`` and ``facts`` are tables; ``template``
renders one sentence; ``relations`` and ``scenes`` hold the sentences, always in both languages;
``documents``, ``passages``, ``items`` compose them; ``build`` writes the folder.
"""
