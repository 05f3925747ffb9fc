"""A fit by the workers of a cluster: all that is not of one kind of cluster.

A kind, such as Dask, is an `Engine`; its folder asks it to read rows and call workers.
The road of a fit, with the file of each step:

``engine``     says what is asked of an engine, checks the arguments of `fit`, and asks:
``summaries``  each partition, where it is, becomes a summary: its queries, no rows
``plan``       of all summaries: which worker fits which queries, so what must be moved
``tables``     the rows of a worker, a partition at a time if they have no room
``fit``        every worker fits its rows together with the others, to one model
``comm``       the sockets by which they sum up and gather meanwhile
"""
