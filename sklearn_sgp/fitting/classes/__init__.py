"""How several classes are learned: first as regressions of labels, which have a closed form."""
