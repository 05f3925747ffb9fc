"""From the arguments of a ranker to what it learns from and is measured by.

In the order of a fit:

``parameters``  what the parameters mean, and which of them go together
``fit_data``    what is read, held out and learned from
``reading``     rows become training data, sorted by query
``objective``   what is learned from, by its derivatives: one term for each label
``measures``    metrics and costs, after each step and of a fitted ranker
``task``        objective and measures of a fit

Trees and networks take the same objective; neither knows what it is made of.
"""
