"""The words of the gate: ten languages in one automaton, slips of the hand, and lists of operators."""
