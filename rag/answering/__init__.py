"""From ranked papers to an answer: which sentences to show, whether to answer at all, and how to say it."""
