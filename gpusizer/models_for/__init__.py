"""The question from the other side: which models a card, or a machine, runs."""
