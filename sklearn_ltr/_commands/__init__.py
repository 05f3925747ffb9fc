"""Commands on files: read those of engines, train, rank, evaluate, compare, convert.

Data are LETOR files (``grade qid:query 1:value 2:value ... # docid = name``); ranked
lists are TREC runs, and grades TREC judgements.  A model is a file of this package,
JSON (``.json``) or a pickle (``.pkl``), or of another library.
"""

from __future__ import annotations

from sklearn_ltr._commands.comparing import add_compare
from sklearn_ltr._commands.compiling import add_compile
from sklearn_ltr._commands.converting import add_convert
from sklearn_ltr._commands.evaluating import add_evaluate
from sklearn_ltr._commands.ranking import add_rank
from sklearn_ltr._commands.reading import add_read
from sklearn_ltr._commands.suspecting import add_suspects
from sklearn_ltr._commands.training import add_train

#: in the order of the help
COMMANDS = (
    add_read,
    add_train,
    add_rank,
    add_evaluate,
    add_compare,
    add_suspects,
    add_convert,
    add_compile,
)
