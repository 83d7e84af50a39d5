"""Models in other programs' formats, with the tokens and the logits that they have here."""
